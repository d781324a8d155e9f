// What several views are made of.

import { html, useEffect, useRef, useState } from "./preact-htm.js";
import { clock, copy, number, plural } from "./text.js";

export function Badge({ kind, children }) {
  return html`<span class="badge badge-${kind}">${children}</span>`;
}

const STATES = {
  Ongoing: "busy",
  PrepareCommit: "busy",
  PrepareAbort: "busy",
  Hanging: "bad",
  CompleteCommit: "good",
  CompleteAbort: "quiet",
  Empty: "quiet",
  Dead: "quiet",
  Stable: "good",
  Assigning: "busy",
  Reconciling: "busy",
  PreparingRebalance: "busy",
  CompletingRebalance: "busy",
};

export function State({ name }) {
  return name ? html`<${Badge} kind=${STATES[name] ?? "quiet"}>${name}<//>` : html`<span class="dim">–</span>`;
}

export function Facts({ rows }) {
  return html`<dl class="facts">
    ${rows.filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

export function Problem({ error }) {
  return error ? html`<p class="problem" role="alert" data-test="problem">${error.message ?? error}</p>` : null;
}

/** Loading, failed, empty, or what there is. */
export function Loaded({ of, empty, children }) {
  if (of.data === null) return of.error ? html`<${Problem} error=${of.error} />` : html`<p class="starting">Loading…</p>`;
  const nothing = Array.isArray(of.data) && of.data.length === 0;
  return html`<${Problem} error=${of.error} />${nothing ? html`<${Empty}>${empty}<//>` : children}`;
}

export function Filter({ value, onInput, label, children }) {
  return html`<div class="filter">
    <label>
      <span class="sr">${label}</span>
      <input type="search" placeholder=${label} value=${value} onInput=${(event) => onInput(event.target.value)} data-test="filter" />
    </label>
    ${children}
  </div>`;
}

export function Choice({ label, value, options, onChange }) {
  return html`<label class="choice">
    <span>${label}</span>
    <select value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}
    </select>
  </label>`;
}

/** Pages of a list: how many there are, and the way to the others. */
export function Pages({ total, offset, limit, onOffset }) {
  if (total === null || total <= limit) return total === null ? null : html`<p class="dim count">${plural(total, "row")}</p>`;
  const last = Math.min(offset + limit, total);
  return html`<nav class="pages" aria-label="Pages">
    <button type="button" disabled=${offset === 0} onClick=${() => onOffset(Math.max(0, offset - limit))}>Earlier rows</button>
    <span class="dim">${number(offset + 1)} to ${number(last)} of ${number(total)}</span>
    <button type="button" disabled=${last >= total} onClick=${() => onOffset(offset + limit)}>Later rows</button>
  </nav>`;
}

export function Time({ ms, now, exact = false }) {
  return html`<time title=${ms ? new Date(ms).toISOString() : ""}>${clock(ms, { exact, today: now })}</time>`;
}

export function Copy({ text, label = "Copy" }) {
  const [said, setSaid] = useState(null);
  const press = async () => {
    try {
      await copy(text);
      setSaid("Copied");
    } catch {
      setSaid("Select it by hand");
    }
    setTimeout(() => setSaid(null), 2000);
  };
  return html`<button type="button" class="small" onClick=${press}>${said ?? label}</button>`;
}

export function Command({ text }) {
  return html`<div class="command"><code data-test="command">${text}</code><${Copy} text=${text} /></div>`;
}

/** A question that has to be answered; Escape is no. */
export function Ask({ title, children, yes, busy, onYes, onNo }) {
  const box = useRef(null);
  useEffect(() => {
    box.current.showModal();
  }, []);
  return html`<dialog ref=${box} class="ask" onCancel=${onNo} aria-labelledby="ask-title" data-test="ask">
    <h2 id="ask-title">${title}</h2>
    ${children}
    <div class="buttons">
      <button type="button" onClick=${onNo} data-test="cancel" autofocus>Leave it</button>
      <button type="button" class="danger" disabled=${busy} onClick=${onYes} data-test="confirm">${busy ? "Working…" : yes}</button>
    </div>
  </dialog>`;
}

export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export function Where({ topic, partition }) {
  return html`<a href=${link("partitions", topic, partition)}>${topic}-${partition}</a>`;
}

export function Transaction({ id, producerId, epoch }) {
  if (id) return html`<a href=${link("transactions", id)}>${id}</a>`;
  if (producerId === null || producerId === undefined || producerId < 0) return html`<span class="dim">–</span>`;
  return html`<span>producer ${String(producerId)}${epoch === null || epoch === undefined ? "" : ` epoch ${epoch}`}</span>`;
}
