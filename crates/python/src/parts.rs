//! Queries that are counted in parts.

#![expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use tagq::{Division, PartOptions, Parts, requests::QueryContext, store::Access};

use crate::{
    answer::Answer,
    errors::{self, question},
    options,
    process::pool_of,
    run::Run,
    waiting::wait,
};

/// A query over runs, divided into parts.
#[pyclass(frozen, module = "tagq._tagq", name = "Plan")]
pub(crate) struct PyPlan {
    plan: tagq::Plan,
}

#[pymethods]
impl PyPlan {
    /// Reads a plan from its text.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let plan = tagq::Plan::parse(text.as_bytes(), Path::new("the plan"));
        Ok(Self { plan: plan.map_err(errors::of_run)? })
    }

    /// Divides the request with this name over runs into about so many parts.
    #[staticmethod]
    fn make(
        py: Python<'_>,
        runs: Vec<PyRef<'_, Run>>,
        name: &str,
        keywords: &Bound<'_, pyo3::types::PyDict>,
        parts: usize,
        part_tags: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let opened: Vec<_> = runs.iter().map(|run| run.parts()).collect::<PyResult<_>>()?;
        let question = options::question_of(name, keywords)?;
        let division = part_tags.map_or(Division::Parts(parts), Division::EveryTags);
        let pool = pool_of(0)?;
        let pool = pool.here()?;
        let plan = wait(py, None, &AtomicBool::default(), |told| {
            let contexts: Vec<QueryContext<'_>> =
                opened.iter().map(|(_, setup)| QueryContext::new(setup, pool, told)).collect();
            let runs = opened.iter().map(|(run, _)| &**run).zip(&contexts);
            tagq::Plan::make(&question, &runs.collect::<Vec<_>>(), division)
        });
        Ok(Self { plan: plan? })
    }

    /// Returns its text.
    fn text(&self) -> PyResult<String> {
        self.plan.text().map_err(errors::of_run)
    }

    /// Returns the number of its parts.
    fn __len__(&self) -> usize {
        self.plan.parts.len()
    }

    /// Counts a part. Returns the partial result.
    fn count<'py>(
        &self,
        py: Python<'py>,
        part: u32,
        threads: usize,
        io: &str,
        cache: Option<PathBuf>,
        store: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let access = match io {
            "map" => Access::Mapped,
            "read" => Access::Copied,
            other => return Err(question(format!("io: `{other}` is none of map, read"))),
        };
        let options = PartOptions { access, cache: cache.as_deref(), store: store.as_deref() };
        let pool = pool_of(threads)?;
        let pool = pool.here()?;
        let counted = wait(py, None, &AtomicBool::default(), |told| {
            self.plan.count(part, options, pool, told).map(|parts| parts.to_bytes())
        });
        Ok(PyBytes::new(py, &counted?))
    }

    /// Returns the number of the run of a part.
    fn run_of(&self, part: usize) -> PyResult<usize> {
        let found = self.plan.parts.get(part).map(|part| part.run);
        found.ok_or_else(|| question(format!("the plan has no part {part}")))
    }

    /// Returns bytes of the files of the store of a part, as name, length of the file, begin and end: the index, which
    /// needs the manifest in `folder`, or the rows, which need the index in it.
    fn ranges(
        &self,
        part: u32,
        folder: PathBuf,
        rows: bool,
    ) -> PyResult<Vec<(String, u64, u64, u64)>> {
        let plan = &self.plan;
        let all =
            if rows { plan.row_bytes(part, &folder) } else { plan.index_bytes(part, &folder) };
        let all = all.map_err(errors::of_run)?;
        Ok(all.into_iter().map(|of| (of.name, of.len, of.bytes.start, of.bytes.end)).collect())
    }

    /// Adds partial results. Returns their sum as a partial result.
    fn add<'py>(
        &self,
        py: Python<'py>,
        parts: Vec<PyBackedBytes>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sum = py.detach(|| self.sum(&parts).map(|sum| sum.to_bytes()));
        Ok(PyBytes::new(py, &sum.map_err(errors::of_run)?))
    }

    /// Answers from all partial results.
    fn answer(&self, py: Python<'_>, parts: Vec<PyBackedBytes>) -> PyResult<Answer> {
        let pool = pool_of(0)?;
        let pool = pool.here()?;
        let answer = wait(py, None, &AtomicBool::default(), |told| {
            self.plan.answer(self.sum(&parts)?, pool, told)
        });
        Answer::new(answer?)
    }
}

impl PyPlan {
    fn sum(&self, parts: &[PyBackedBytes]) -> Result<Parts, tagq::Error> {
        let mut sum = Parts::none(&self.plan);
        for bytes in parts {
            let part = Parts::from_bytes(bytes)?;
            part.check(&self.plan)?;
            sum.add(part)?;
        }
        Ok(sum)
    }
}
