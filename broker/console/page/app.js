// The shell of the page: where one is, what everybody sees, whether it is fresh.

import { follow, get, setToken } from "./api.js";
import { Fencings } from "./fencings.js";
import { GroupView, Groups } from "./groups.js";
import { Lint } from "./lint.js";
import { Live, useClock } from "./live.js";
import { PartitionView, Partitions } from "./partitions.js";
import { Problem, link } from "./parts.js";
import { html, render, useEffect, useMemo, useRef, useState } from "./preact-htm.js";
import { Stuck } from "./stuck.js";
import { number } from "./text.js";
import { Life, Transactions } from "./transactions.js";

const VIEWS = [
  ["stuck", "Stuck", "stuck"],
  ["transactions", "Transactions", "transactional_ids"],
  ["partitions", "Partitions", "partitions"],
  ["groups", "Groups", "groups"],
  ["fencings", "Fencing journal", "fencings"],
  ["lint", "Mistakes", "lint"],
];
const SOURCES = { embedded: "this broker", wire: "a Kafka, over its protocol", directory: "a data directory, read only" };

function here() {
  const [path, given] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts: parts.length ? parts : ["stuck"], asked: Object.fromEntries(new URLSearchParams(given ?? "")) };
}

function useHere() {
  const [place, setPlace] = useState(here());
  useEffect(() => {
    const moved = () => {
      setPlace(here());
      window.scrollTo(0, 0);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}

function view({ parts, asked }) {
  const [name, first, second] = parts;
  const key = parts.join("/");
  if (name === "transactions") return first ? html`<${Life} key=${key} id=${first} />` : html`<${Transactions} />`;
  if (name === "partitions") {
    return second ? html`<${PartitionView} key=${key} topic=${first} partition=${Number(second)} />` : html`<${Partitions} />`;
  }
  if (name === "groups") return first ? html`<${GroupView} key=${key} id=${first} />` : html`<${Groups} />`;
  if (name === "fencings") return html`<${Fencings} key=${JSON.stringify(asked)} asked=${asked} />`;
  if (name === "lint") return html`<${Lint} />`;
  return html`<${Stuck} />`;
}

/** What the event stream tells, for all views. */
function useEvents(generation) {
  const [overview, setOverview] = useState(null);
  const [offsetMs, setOffsetMs] = useState(0);
  const [stuck, setStuck] = useState(null);
  const [state, setState] = useState({ link: "connecting", why: null });
  const [heard, setHeard] = useState({ fencing: 0, lint: 0 });
  const [behind, setBehind] = useState([]);
  useEffect(() => {
    const hear = (name, data) => {
      if (name === "overview") {
        setOverview(data);
        setOffsetMs(data.now_ms - Date.now());
      } else if (name === "stuck") {
        setStuck(data);
        setBehind((before) => [...before, [Date.now(), data.reduce((sum, row) => sum + row.behind, 0)]].slice(-1800));
      } else if (name.startsWith("fencing")) {
        setHeard((before) => ({ ...before, fencing: before.fencing + 1 }));
      } else if (name.startsWith("lint")) {
        setHeard((before) => ({ ...before, lint: before.lint + 1 }));
      }
    };
    get("overview").then(({ data }) => hear("overview", data), () => {});
    get("stuck").then(({ data }) => hear("stuck", data), () => {});
    return follow(hear, (now, why) => setState({ link: now, why }));
  }, [generation]);
  return { overview, offsetMs, stuck, state, heard, behind };
}

function Token({ onGiven }) {
  const [given, setGiven] = useState("");
  const take = (event) => {
    event.preventDefault();
    setToken(given.trim());
    onGiven();
  };
  return html`<main class="narrow">
    <h1>This page needs its token</h1>
    <p>Open the address that was printed at the start, which ends in <code>?token=…</code>, or type the token here.</p>
    <form onSubmit=${take} class="filter">
      <label>
        <span class="sr">Token</span>
        <input type="password" autocomplete="off" value=${given} onInput=${(event) => setGiven(event.target.value)} data-test="token" />
      </label>
      <button type="submit" class="primary">Go on</button>
    </form>
  </main>`;
}

const THEMES = ["auto", "light", "dark"];

function useTheme() {
  const [theme, setTheme] = useState(localStorage.getItem("oncelog-theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("oncelog-theme", theme);
  }, [theme]);
  return [theme, () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}

function Freshness({ state }) {
  const said = { live: "live", lost: "connection lost", denied: "no token", connecting: "connecting" }[state.link];
  return html`<span class="freshness freshness-${state.link}" role="status" title=${state.why ?? ""} data-test="link">${said}</span>`;
}

function App() {
  const [generation, setGeneration] = useState(0);
  const place = useHere();
  const [theme, nextTheme] = useTheme();
  const { overview, offsetMs, stuck, state, heard, behind } = useEvents(generation);
  const now = useClock(offsetMs);
  const live = useMemo(() => ({ overview, stuck, state, heard, behind, now }), [overview, stuck, state, heard, behind, now]);
  const main = useRef(null);
  const current = place.parts[0];
  useEffect(() => {
    const name = VIEWS.find(([key]) => key === current)?.[1] ?? "Stuck";
    document.title = `${place.parts[1] ?? name} · oncelog console`;
    document.querySelector(".views [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current, place.parts[1]]);
  if (state.link === "denied") return html`<${Token} onGiven=${() => setGeneration(generation + 1)} />`;
  return html`<${Live.Provider} value=${live}>
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>To the content</a>
    <header class="top">
      <div class="brand">
        <a href=${link("stuck")}><img src="/page/icon.svg" alt="" width="22" height="22" /> <b>oncelog console</b></a>
        ${overview && html`<span class="dim source" title=${overview.cluster_id ?? ""}>${overview.name} · ${SOURCES[overview.source] ?? overview.source}</span>`}
      </div>
      <div class="right">
        <${Freshness} state=${state} />
        <button type="button" class="small" onClick=${nextTheme} aria-label="Colours: ${theme}">${{ auto: "Auto", light: "Light", dark: "Dark" }[theme]}</button>
      </div>
      <nav class="views" aria-label="Views">
        ${VIEWS.map(([key, name, counted]) => {
          const count = overview?.counts?.[counted];
          const alarming = (key === "stuck" || key === "lint") && count > 0;
          return html`<a key=${key} href=${link(key)} aria-current=${current === key ? "page" : null} data-test="view-${key}">
            ${name}${count === undefined || count === null ? null : html` <span class="number ${alarming ? "number-alarm" : ""}">${number(count)}</span>`}
          </a>`;
        })}
      </nav>
    </header>
    <main id="main" tabindex="-1" ref=${main}>
      ${state.link === "lost" && html`<${Problem} error=${`What is shown is old: ${state.why} It is tried again.`} />`}
      <${Problem} error=${overview?.problem} />
      ${view(place)}
    </main>
    <footer class="dim">
      ${overview?.version ? `${overview.version} · ` : ""}what is known is under <a href="/api/v1/overview">/api/v1</a> as JSON · <a href="/page/licenses.txt">licences</a>
    </footer>
  <//>`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
