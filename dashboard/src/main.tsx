import { render } from "preact";
import { App } from "./app";
import { openApi } from "./data";
import "./style.css";
import { restoreTheme } from "./theme";

const root = document.getElementById("app");
if (root) {
  restoreTheme();
  history.scrollRestoration = "manual"; // lists know where the reader was
  const api = openApi();
  if (api.home && !location.hash) history.replaceState(null, "", api.home);
  for (const reduced of document.querySelectorAll("[data-reduced]")) reduced.remove();
  render(<App api={api} />, root);
}
