// The page: it asks the server what there is, and shows it.

import { App } from "./app";
import { signIn } from "./login";

declare global {
  interface Window {
    tagq?: App;
  }
}

void signIn().then(() => {
  window.tagq = new App(document.body);
  window.tagq.start();
});
