// The token of the address becomes a cookie and leaves the history.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  history.replaceState(null, "", location.pathname);
  fetch("api/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  }).then((answer) => {
    if (!answer.ok) document.getElementById("state").textContent = "This token is not valid.";
  });
}
