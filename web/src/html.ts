/** The page of a figure: draws its data in place of the picture that is shown without JavaScript. */

import { draw, type DrawOptions, type Figure, type Page } from "./figure";

/** Height of title, header and buttons, about. */
const ABOVE = 140;

/** Returns how a figure is drawn that was made for some page. */
function optionsOf({ is_dark, height }: Page): DrawOptions {
  return { ...(is_dark ? { dark: true } : {}), ...(height === null ? {} : { height: Math.max(height - ABOVE, 200) }) };
}

const data = document.getElementById("figure");
const picture = document.querySelector("figure");
if (data && picture) {
  const figure = JSON.parse(data.textContent ?? "") as Figure;
  const host = document.createElement("div");
  if (figure.page.height !== null) host.style.maxWidth = `${figure.page.width}px`;
  picture.before(host);
  try {
    draw(host, figure, optionsOf(figure.page));
    picture.remove();
  } catch (error) {
    // The picture stays.
    host.remove();
    throw error;
  }
}
