/** The page of a figure: draws its data in place of the picture that is shown without JavaScript. */

import { draw } from "./figure";
import type { Figure } from "./figure";

const data = document.getElementById("figure");
const picture = document.querySelector("figure");
if (data && picture) {
  const figure = JSON.parse(data.textContent ?? "") as Figure;
  const host = document.createElement("div");
  picture.before(host);
  try {
    draw(host, figure, figure.page.is_dark ? { dark: true } : {});
    picture.remove();
  } catch (error) {
    // The picture stays.
    host.remove();
    throw error;
  }
}
