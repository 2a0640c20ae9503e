// The token of the address becomes a cookie, and leaves the address and the history.

import * as api from "./api";
import { Refused } from "./api";
import { field, h } from "./dom";

/** Returns when the server answers this browser: at once, with the token of the address, or with a typed one. */
export async function signIn(): Promise<void> {
  const words = new URLSearchParams(location.hash.slice(1));
  const token = words.get("token");
  let reason = "";
  if (token !== null) {
    words.delete("token");
    history.replaceState(null, "", location.pathname + (words.size > 0 ? `#${words}` : ""));
    reason = await refusal(() => api.login(token));
  }
  while (reason === "" ? (reason = await refusal(api.runs)) !== "" : true) {
    await typed(reason);
    reason = "";
  }
}

/** Returns why the server does not take the token; empty if it does, or if it cannot be asked now. */
async function refusal(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask();
    return "";
  } catch (error) {
    return error instanceof Refused && error.status === 401 ? "This server asks for its token. `tagq serve` printed it with the address." : "";
  }
}

/** Asks the person for the token until the server takes one. */
function typed(reason: string): Promise<void> {
  return new Promise((resolve) => {
    const input = h("input", { type: "password", required: true, autocomplete: "off" });
    const why = h("p", { role: "alert" }, reason);
    const form = h("form", { class: "login" }, h("h1", {}, "tagq"), why, field("token", input), h("button", {}, "Open"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void refusal(() => api.login(input.value.trim())).then((refused) => {
        if (refused !== "") return why.replaceChildren(refused);
        form.remove();
        resolve();
      });
    });
    document.body.append(form);
    input.focus();
  });
}
