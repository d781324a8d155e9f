// Transactional ids, and the life of one.

import { useApi, useLive, useSettled } from "./live.js";
import { Badge, Choice, Facts, Filter, Loaded, Pages, State, Time, Transaction, Where, link } from "./parts.js";
import { html, useState } from "./preact-htm.js";
import { client, clock, duration, number, plural } from "./text.js";

const LIMIT = 200;
const STATES = [
  ["", "every state"],
  ["Ongoing", "Ongoing"],
  ["PrepareCommit,PrepareAbort", "ending"],
  ["Ongoing,PrepareCommit,PrepareAbort", "open"],
  ["CompleteCommit", "CompleteCommit"],
  ["CompleteAbort", "CompleteAbort"],
  ["Empty", "Empty"],
];

export function Transactions() {
  const { now } = useLive();
  const [typed, setTyped] = useState("");
  const [state, setState] = useState("");
  const [offset, setOffset] = useState(0);
  const q = useSettled(typed);
  const found = useApi("transactions", { q, state, offset, limit: LIMIT });
  return html`
    <h1>Transactions</h1>
    <${Filter} label="Part of a transactional id" value=${typed} onInput=${(text) => (setTyped(text), setOffset(0))}>
      <${Choice} label="State" value=${state} options=${STATES} onChange=${(chosen) => (setState(chosen), setOffset(0))} />
    <//>
    <${Loaded} of=${found} empty=${q || state ? "No transactional id is like that." : "No client has used a transactional id yet."}>
      <table class="list">
        <thead>
          <tr><th>Transactional id</th><th>State</th><th>Open for</th><th>Ends by itself</th><th>Producer</th><th>Owner</th><th>Partitions</th><th>Last change</th></tr>
        </thead>
        <tbody>
          ${(found.data ?? []).map(
            (row) => html`<tr key=${row.transactional_id} data-test="transaction-row">
              <td data-label="Transactional id"><${Transaction} id=${row.transactional_id} /></td>
              <td data-label="State"><${State} name=${row.state} /></td>
              <td data-label="Open for">${row.start_ms === null ? "–" : duration(now - row.start_ms)}</td>
              <td data-label="Ends by itself">${row.aborts_at_ms === null ? "–" : `in ${duration(Math.max(0, row.aborts_at_ms - now))}`}</td>
              <td data-label="Producer"><span class="mono">${String(row.producer_id)}</span> <span class="dim">epoch ${row.producer_epoch}</span></td>
              <td data-label="Owner">${client(row.client_id, row.client_host)}</td>
              <td data-label="Partitions"><${Places} places=${row.partitions} /></td>
              <td data-label="Last change"><${Time} ms=${row.last_update_ms} now=${now} /></td>
            </tr>`,
          )}
        </tbody>
      </table>
      <${Pages} total=${found.total} offset=${offset} limit=${LIMIT} onOffset=${setOffset} />
    <//>
  `;
}

function Places({ places }) {
  if (!places) return html`<span class="dim">–</span>`;
  const first = places.slice(0, 3);
  return html`${first.map((place, at) => html`${at ? ", " : ""}<${Where} ...${place} />`)}${places.length > 3 ? html` <span class="dim">and ${places.length - 3} more</span>` : ""}`;
}

const KINDS = {
  init: ["begin", "init"],
  add: ["busy", "add"],
  produce: ["busy", "produce"],
  offsets: ["busy", "offsets"],
  prepare_commit: ["good", "prepare commit"],
  prepare_abort: ["quiet", "prepare abort"],
  marker_commit: ["good", "marker: commit"],
  marker_abort: ["quiet", "marker: abort"],
  complete_commit: ["good", "committed"],
  complete_abort: ["quiet", "aborted"],
  fenced: ["bad", "fenced"],
  error: ["bad", "error"],
  expired: ["bad", "expired"],
};
const SEEN_IN = { record: "record of __transaction_state", marker: "control batch", request: "request", journal: "fencing journal" };

export function Life({ id }) {
  const { now } = useLive();
  const found = useApi(`transactions/${encodeURIComponent(id)}/life`, {}, 2000);
  const [hidden, setHidden] = useState("");
  return html`
    <p class="crumbs"><a href=${link("transactions")}>Transactions</a> / ${id}</p>
    <h1>The life of ${id}</h1>
    <${Loaded} of=${found}>${found.data && html`<${Story} story=${found.data} now=${now} shown=${hidden} onShown=${setHidden} />`}<//>
  `;
}

const SHOWN = [
  ["", "everything"],
  ["record", "records"],
  ["request", "requests"],
  ["marker", "markers"],
  ["trouble", "trouble only"],
];

function Story({ story, now, shown, onShown }) {
  const it = story.transaction;
  const events = story.events.filter((event) =>
    shown === "" ? true : shown === "trouble" ? ["fenced", "error", "expired"].includes(event.kind) : event.seen_in === shown,
  );
  return html`
    <${Facts}
      rows=${[
        ["state", html`<${State} name=${it.state} />`],
        ["producer", `${it.producer_id} epoch ${it.producer_epoch}`],
        ["owner", client(it.client_id, it.client_host)],
        ["open for", it.start_ms === null ? "not open" : duration(now - it.start_ms)],
        it.aborts_at_ms !== null && ["ends by itself", `in ${duration(Math.max(0, it.aborts_at_ms - now))}`],
        ["time-out", duration(it.timeout_ms)],
        ["protocol", it.transaction_version === 2 ? "an epoch for each transaction (KIP-890)" : it.transaction_version === null ? "–" : "one epoch for many transactions"],
        it.partitions?.length > 0 && ["partitions", html`<${Places} places=${it.partitions} />`],
      ]}
    />
    <${Choice} label="Show" value=${shown} options=${SHOWN} onChange=${onShown} />
    ${!story.complete && html`<p class="dim">Older events are gone: compaction or age took them.</p>`}
    <ol class="life" data-test="life">
      ${events.map((event, at) => html`<${Happened} key=${`${event.seen_in}${event.offset}${event.time_ms}${at}`} event=${event} before=${events[at - 1]} now=${now} />`)}
    </ol>
    ${events.length === 0 && html`<p class="empty">Nothing of that kind is known.</p>`}
  `;
}

function Happened({ event, before, now }) {
  const [kind, name] = KINDS[event.kind] ?? ["quiet", event.kind];
  const passed = before && event.time_ms !== null && before.time_ms !== null ? event.time_ms - before.time_ms : null;
  const told = [
    event.api && `${event.api}${event.version === null ? "" : ` v${event.version}`}`,
    event.error,
    (event.client_id || event.client_host) && client(event.client_id, event.client_host),
    event.group_id && `group ${event.group_id}`,
    SEEN_IN[event.seen_in] && `${SEEN_IN[event.seen_in]}${event.offset === null ? "" : ` at ${number(event.offset)}`}`,
  ].filter(Boolean);
  return html`<li class="event event-${kind}" data-test="life-event">
    <div class="when"><time title=${clock(event.time_ms, { exact: true, today: 0 })}>${clock(event.time_ms, { exact: true, today: now })}</time>${passed !== null && passed > 0 ? html`<span class="dim">+${duration(passed)}</span>` : null}</div>
    <div class="what">
      <p><${Badge} kind=${kind}>${name}<//> ${event.sentence}</p>
      <p class="dim">${told.join(" · ")}</p>
      ${event.by && html`<p class="by">by ${client(event.by.client_id, event.by.client_host)}: epoch ${event.by.epoch_before ?? "–"} before, ${event.by.epoch_after ?? "–"} after</p>`}
      ${event.partitions?.length > 0 && html`<p class="dim">${plural(event.partitions.length, "partition")}: <${Places} places=${event.partitions} /></p>`}
    </div>
  </li>`;
}
