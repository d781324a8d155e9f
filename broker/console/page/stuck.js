// The first view: which partitions give read_committed consumers nothing new, and because of whom.

import { get, post } from "./api.js";
import { useLive } from "./live.js";
import { Ask, Command, Empty, Facts, Problem, State, Transaction, Where, link } from "./parts.js";
import { html, useEffect, useRef, useState } from "./preact-htm.js";
import { client, clock, duration, number, plural } from "./text.js";

export function Stuck() {
  const { stuck, overview, behind, now } = useLive();
  const [asking, setAsking] = useState(null);
  const [said, setSaid] = useState(null);
  const [gone, setGone] = useState(() => new Set());
  const rows = (stuck ?? []).filter((row) => !gone.has(keyOf(row)));
  useEffect(() => setGone(new Set()), [stuck]);
  const total = Math.max(overview?.counts?.stuck ?? 0, rows.length);

  const aborted = (row, answer) => {
    setAsking(null);
    setSaid({ good: true, text: answer.sentence });
    setGone((before) => new Set([...before, keyOf(row)]));
  };

  return html`
    <h1>Why does my consumer stand still?</h1>
    ${said && html`<p class=${said.good ? "done" : "problem"} role="status" data-test="said">${said.text}</p>`}
    ${stuck === null && html`<p class="starting">Loading…</p>`}
    ${stuck !== null && rows.length === 0 && html`<${Nothing} overview=${overview} />`}
    ${rows.length > 0 &&
    html`<p class="lead">
      ${plural(total, "partition")} ${total === 1 ? "gives" : "give"} read_committed consumers nothing new: an open transaction holds the last stable
      offset back.${total > rows.length ? ` The ${number(rows.length)} that wait longest are shown.` : ""}
    </p>`}
    <ol class="cards" aria-label="Partitions that stand still">
      ${rows.map((row) => html`<li key=${keyOf(row)}><${Row} row=${row} now=${now} onAsk=${() => setAsking(row)} /></li>`)}
    </ol>
    <${Behind} samples=${behind} now=${now} />
    ${asking && html`<${Abort} row=${asking} onDone=${(answer) => aborted(asking, answer)} onNo=${() => setAsking(null)} />`}
  `;
}

const keyOf = (row) => `${row.topic}/${row.partition}/${row.producer_id}/${row.producer_epoch}/${row.first_offset}`;

function Nothing({ overview }) {
  const counts = overview?.counts;
  return html`<div class="calm" data-test="nothing-stuck">
    <p class="calm-title"><span aria-hidden="true">✓</span> Nothing stands still</p>
    <p>
      Every partition's last stable offset is at its high watermark: a read_committed consumer gets all there
      is.${counts?.open_transactions ? ` ${plural(counts.open_transactions, "transaction is", "transactions are")} open and holds nobody up so far.` : ""}
    </p>
  </div>`;
}

function Row({ row, now, onAsk }) {
  const [open, setOpen] = useState(false);
  const left = row.aborts_at_ms === null ? null : row.aborts_at_ms - now;
  const age = row.age_ms === null ? null : row.aborts_at_ms && row.timeout_ms ? row.timeout_ms - left : row.age_ms;
  return html`<article class="card" data-test="stuck-row">
    <header>
      <h2><${Where} topic=${row.topic} partition=${row.partition} /></h2>
      <${State} name=${row.state} />
      <span class="push"></span>
      <span class="actions">
      <button type="button" class="small" aria-expanded=${open} onClick=${() => setOpen(!open)} data-test="command-toggle">Command</button>
      <button
        type="button"
        class="small danger"
        disabled=${!row.abort?.possible}
        title=${row.abort?.why_not ?? "End it now: what it wrote is never shown"}
        onClick=${onAsk}
        data-test="abort"
      >
        Abort it…
      </button>
      </span>
    </header>
    <p class="sentence" data-test="sentence">${row.sentence}</p>
    ${open && row.abort?.command && html`<${Command} text=${row.abort.command} />`}
    ${!row.abort?.possible && row.abort?.why_not && html`<p class="dim">${row.abort.why_not}</p>`}
    <${Facts}
      rows=${[
        ["held by", row.transactional_id === null ? "no transactional id known" : html`<${Transaction} id=${row.transactional_id} />`],
        ["producer", `${row.producer_id} epoch ${row.producer_epoch}`],
        ["owner", client(row.client_id, row.client_host)],
        ["last stable offset", number(row.last_stable_offset)],
        ["high watermark", `${number(row.high_watermark)} (${plural(row.behind, "offset")} more)`],
        ["open for", duration(age)],
        ["ends by itself", left === null ? "never" : left > 0 ? `in ${duration(left)}` : "now"],
        ["groups that wait", row.groups === null ? "–" : row.groups.length ? html`<${Waiting} groups=${row.groups} />` : "none known"],
      ]}
    />
  </article>`;
}

function Waiting({ groups }) {
  const first = groups.slice(0, 5);
  return html`${first.map((group, at) => html`${at ? ", " : ""}<a href=${link("groups", group)}>${group}</a>`)}${groups.length > first.length ? ` and ${groups.length - first.length} more` : ""}`;
}

function Abort({ row, onDone, onNo }) {
  const [state, setState] = useState({ busy: false, error: null });
  const hanging = row.transactional_id === null;
  const yes = async () => {
    setState({ busy: true, error: null });
    const named = { topic: row.topic, partition: row.partition, producer_id: row.producer_id, producer_epoch: row.producer_epoch };
    try {
      onDone(await post(`transactions/${encodeURIComponent(row.transactional_id ?? "-")}/abort`, hanging ? named : undefined));
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return html`<${Ask} title="Abort this transaction?" yes="Abort it" busy=${state.busy} onYes=${yes} onNo=${onNo}>
    <p>
      What ${hanging ? `producer ${row.producer_id}` : row.transactional_id} wrote in this transaction, in all its partitions, is never shown to
      read_committed consumers${hanging ? "." : ", and its producer is fenced: it has to begin again."}
    </p>
    ${row.abort?.command && html`<p class="dim">The same by Kafka's tool:</p><${Command} text=${row.abort.command} />`}
    <${Problem} error=${state.error} />
  <//>`;
}

/** How many records are held back, since the page was opened. */
function Behind({ samples, now }) {
  const place = useRef(null);
  const plot = useRef(null);
  const some = samples.some(([, count]) => count > 0);
  useEffect(() => {
    if (!some || !place.current || !window.uPlot) return undefined;
    const style = getComputedStyle(document.documentElement);
    const axis = { stroke: style.getPropertyValue("--dim"), grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    const made = new window.uPlot(
      {
        width: place.current.clientWidth,
        height: 140,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: (_plot, first, last) => [Math.min(first, last - 60), last] },
          y: { range: (_plot, _least, most) => [0, Math.max(1, most)] },
        },
        axes: [{ ...axis, space: 90, values: (_plot, times) => times.map((time) => clock(time * 1000)) }, { ...axis, size: 60, values: (_plot, values) => values.map((value) => number(value)) }],
        series: [{}, { stroke: style.getPropertyValue("--alarm"), width: 2, paths: window.uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
      },
      [[], []],
      place.current,
    );
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: place.current.clientWidth, height: 140 }));
    sized.observe(place.current);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [some]);
  useEffect(() => {
    if (!plot.current || !samples.length) return;
    const shown = [...samples, [Date.now(), samples[samples.length - 1][1]]];
    plot.current.setData([shown.map(([at]) => at / 1000), shown.map(([, count]) => count)]);
  }, [samples, now, some]);
  return some
    ? html`<section class="behind">
        <h2>Offsets held back, since this page was opened</h2>
        <div ref=${place} role="img" aria-label="Offsets held back over time; now ${number(samples[samples.length - 1][1])}"></div>
      </section>`
    : null;
}
