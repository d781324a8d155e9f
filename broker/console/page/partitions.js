// Partitions, and one of them drawn: its batches by producer, what was aborted, what is open, and where readers stand.

import { useApi, useLive, useSettled } from "./live.js";
import { Badge, Facts, Filter, Loaded, Pages, State, Time, Transaction, Where, link } from "./parts.js";
import { html, useEffect, useMemo, useRef, useState } from "./preact-htm.js";
import { bytes, clock, colour, number, plural, shown } from "./text.js";

const LIMIT = 200;
const BATCHES = 500;

export function Partitions() {
  const [typed, setTyped] = useState("");
  const [offset, setOffset] = useState(0);
  const q = useSettled(typed);
  const found = useApi("partitions", { q, offset, limit: LIMIT });
  return html`
    <h1>Partitions</h1>
    <${Filter} label="Part of a topic's name" value=${typed} onInput=${(text) => (setTyped(text), setOffset(0))} />
    <${Loaded} of=${found} empty=${q ? "No topic is called like that." : "There is no topic yet."}>
      <table class="list">
        <thead>
          <tr>
            <th>Partition</th><th class="right">Log start</th><th class="right">Last stable</th><th class="right">High watermark</th>
            <th class="right">Behind</th><th class="right">Open transactions</th><th class="right">Producers</th><th class="right">Size</th>
          </tr>
        </thead>
        <tbody>
          ${(found.data ?? []).map(
            (row) => html`<tr key=${`${row.topic}-${row.partition}`} data-test="partition-row">
              <td data-label="Partition"><${Where} topic=${row.topic} partition=${row.partition} /></td>
              <td data-label="Log start" class="right mono">${number(row.log_start_offset)}</td>
              <td data-label="Last stable" class="right mono">${number(row.last_stable_offset)}</td>
              <td data-label="High watermark" class="right mono">${number(row.high_watermark)}</td>
              <td data-label="Behind" class="right mono ${row.behind > 0 ? "alarm" : ""}">${number(row.behind)}</td>
              <td data-label="Open transactions" class="right mono">${number(row.open_transactions)}</td>
              <td data-label="Producers" class="right mono">${number(row.producers)}</td>
              <td data-label="Size" class="right mono">${bytes(row.bytes)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      <${Pages} total=${found.total} offset=${offset} limit=${LIMIT} onOffset=${setOffset} />
    <//>
  `;
}

export function PartitionView({ topic, partition }) {
  const [from, setFrom] = useState(null);
  const [chosen, setChosen] = useState(null);
  const path = `partitions/${encodeURIComponent(topic)}/${partition}`;
  const found = useApi(path, { from, batches: BATCHES }, from === null ? 3000 : 10_000);
  return html`
    <p class="crumbs"><a href=${link("partitions")}>Partitions</a> / ${topic}-${partition}</p>
    <h1>${topic}-${partition}</h1>
    <${Loaded} of=${found}>
      ${found.data && html`<${Drawn} log=${found.data} from=${from} onFrom=${setFrom} chosen=${chosen} onChoose=${setChosen} path=${path} />`}
    <//>
  `;
}

function Drawn({ log, from, onFrom, chosen, onChoose, path }) {
  const { now } = useLive();
  const batch = log.batches.find((one) => one.base_offset === chosen) ?? null;
  return html`
    <${Facts}
      rows=${[
        ["log start", number(log.log_start_offset)],
        ["last stable offset", number(log.last_stable_offset)],
        ["high watermark", number(log.high_watermark)],
        ["log end", number(log.log_end_offset)],
        ["size", bytes(log.bytes)],
        log.segments && ["segments", number(log.segments.length)],
      ]}
    />
    <${Strip} log=${log} chosen=${chosen} onChoose=${onChoose} />
    <nav class="pages" aria-label="Part of the log">
      <button type="button" disabled=${log.from_offset <= log.log_start_offset} onClick=${() => onFrom(log.log_start_offset)}>From the start</button>
      <button type="button" disabled=${log.next_offset === null} onClick=${() => onFrom(log.next_offset)}>Go on</button>
      <button type="button" disabled=${from === null} onClick=${() => onFrom(null)}>The newest</button>
      <${GoTo} onFrom=${onFrom} />
      <span class="dim">${log.batches.length ? `offsets ${number(log.batches[0].base_offset)} to ${number(log.batches[log.batches.length - 1].last_offset)}` : ""}</span>
    </nav>
    ${batch && html`<${Batch} key=${batch.base_offset} batch=${batch} path=${path} onClose=${() => onChoose(null)} now=${now} />`}
    <${Open} rows=${log.open_transactions} />
    <${Producers} producers=${log.producers} now=${now} />
    <${Batches} batches=${log.batches} chosen=${chosen} onChoose=${onChoose} now=${now} />
  `;
}

function GoTo({ onFrom }) {
  const [typed, setTyped] = useState("");
  const go = (event) => {
    event.preventDefault();
    if (/^\d+$/.test(typed.trim())) onFrom(Number(typed.trim()));
  };
  return html`<form class="goto" onSubmit=${go}>
    <label><span class="sr">Offset</span><input inputmode="numeric" pattern="[0-9]*" size="9" placeholder="offset" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
    <button type="submit">Go</button>
  </form>`;
}

// -- the drawing: one lane for each producer, batches from left to right in the order of their offsets

const LANE = 30;
const TOP = 22;
const LANES = 8;
const LEFT = 6;

const widthOf = (batch) => (batch.control ? 14 : Math.min(90, 14 + 9 * Math.log2(1 + batch.records)));

function laid(log) {
  const order = [];
  for (const batch of log.batches) {
    const name = batch.producer_id < 0 ? "none" : String(batch.producer_id);
    if (!order.includes(name)) order.push(name);
  }
  const lanes = new Map(order.map((name, at) => [name, Math.min(at, LANES - 1)]));
  let x = LEFT;
  const boxes = log.batches.map((batch) => {
    const name = batch.producer_id < 0 ? "none" : String(batch.producer_id);
    const box = { batch, x, width: widthOf(batch), lane: lanes.get(name) };
    x += box.width + 3;
    return box;
  });
  const owners = new Map([...(log.producers ?? []), ...log.open_transactions].filter((one) => one.transactional_id).map((one) => [String(one.producer_id), one.transactional_id]));
  const names = order.slice(0, LANES).map((name, at) => {
    if (at === LANES - 1 && order.length > LANES) return "all others";
    return owners.get(name) ?? (name === "none" ? "no producer id" : `…${name.slice(-6)}`);
  });
  return { boxes, names, width: x + 64 };
}

/** Where an offset begins, in the drawing. */
function placeOf(offset, { boxes }) {
  const box = boxes.find((one) => one.batch.last_offset >= offset);
  if (!box) return boxes.length ? boxes[boxes.length - 1].x + boxes[boxes.length - 1].width + 2 : LEFT;
  return box.x - 2;
}

function Strip({ log, chosen, onChoose }) {
  const frame = useRef(null);
  const drawing = useMemo(() => laid(log), [log]);
  const { boxes, names, width } = drawing;
  const height = TOP + names.length * LANE + 26;
  const first = boxes.length ? boxes[0].batch.base_offset : 0;
  const within = (offset) => boxes.length > 0 && offset >= first;
  const newest = boxes.length ? boxes[boxes.length - 1].batch.last_offset : -1;
  useEffect(() => {
    frame.current?.scrollTo({ left: frame.current.scrollWidth });
  }, [first, newest]);
  if (!boxes.length) return html`<p class="empty">There is no batch in this part of the log.</p>`;

  const keys = (event) => {
    const at = boxes.findIndex((box) => box.batch.base_offset === chosen);
    const to = { ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(boxes.length - 1, at + 1), Home: 0, End: boxes.length - 1 }[event.key];
    if (event.key === "Escape") onChoose(null);
    if (to === undefined) return;
    event.preventDefault();
    onChoose(boxes[to].batch.base_offset);
    frame.current.scrollTo({ left: boxes[to].x - frame.current.clientWidth / 2 });
  };

  return html`<figure class="strip">
    <div class="lanes">
    <div class="names" aria-hidden="true" style="padding-top: ${TOP}px">${names.map((name, at) => html`<div key=${at} style="height: ${LANE}px" title=${name}>${name}</div>`)}</div>
    <div class="scroll" ref=${frame} tabindex="0" role="group" aria-label="Batches; arrow keys choose one" onKeyDown=${keys} data-test="strip">
      <svg width=${width} height=${height} role="img" aria-label="${boxes.length} batches of ${log.topic}-${log.partition}">
        <defs>
          <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2.5" height="6" class="hatch" /></pattern>
        </defs>
        ${names.map((_name, at) => html`<line key=${at} class="lane" x1="0" x2="100%" y1=${TOP + at * LANE + LANE} y2=${TOP + at * LANE + LANE} />`)}
        ${(log.segments ?? [])
          .filter((segment) => within(segment.base_offset) && segment.base_offset > log.log_start_offset)
          .map((segment) => html`<${Mark} key=${`s${segment.base_offset}`} kind="segment" x=${placeOf(segment.base_offset, drawing)} height=${height} text="segment ${number(segment.base_offset)}" low=${true} />`)}
        ${(log.snapshots ?? [])
          .filter((offset) => within(offset) && offset > 0)
          .map((offset) => html`<path key=${`p${offset}`} class="snapshot" d="M ${placeOf(offset, drawing)} ${TOP - 2} l -5 -9 h 10 z"><title>producer snapshot at ${offset}</title></path>`)}
        ${boxes.map((box) => html`<${Box} key=${box.batch.base_offset} ...${box} chosen=${box.batch.base_offset === chosen} onChoose=${onChoose} />`)}
        ${within(log.last_stable_offset) && html`<${Mark} kind="lso" x=${placeOf(log.last_stable_offset, drawing)} height=${height} text=${log.last_stable_offset === log.high_watermark ? "LSO = HWM" : "LSO"} />`}
        ${within(log.high_watermark) && log.last_stable_offset !== log.high_watermark && html`<${Mark} kind="hwm" x=${placeOf(log.high_watermark, drawing)} height=${height} text="HWM" />`}
      </svg>
    </div>
    </div>
    <figcaption class="legend">
      <span><i class="swatch fill-0"></i>committed or plain, a colour for each producer</span>
      <span><i class="swatch swatch-aborted"></i>aborted</span>
      <span><i class="swatch swatch-open"></i>open</span>
      <span><i class="dot dot-commit"></i>commit</span>
      <span><i class="dot dot-abort"></i>abort</span>
      <span><i class="rule rule-lso"></i>last stable offset</span>
      <span><i class="rule rule-hwm"></i>high watermark</span>
      <span><i class="rule rule-segment"></i>segment border</span>
    </figcaption>
  </figure>`;
}

function Mark({ kind, x, height, text, low = false }) {
  return html`<g class="mark mark-${kind}"><line x1=${x} x2=${x} y1="14" y2=${height - (low ? 4 : 14)} /><text x=${x + 4} y=${low ? height - 4 : 11}>${text}</text></g>`;
}

function Box({ batch, x, width, lane, chosen, onChoose }) {
  const y = TOP + lane * LANE + 5;
  const choose = () => onChoose(chosen ? null : batch.base_offset);
  const told = `${batch.control ? `${batch.control} marker` : plural(batch.records, "record")}, offsets ${batch.base_offset} to ${batch.last_offset}, ${batch.outcome ?? ""}`;
  if (batch.control) {
    return html`<g class="box ${chosen ? "chosen" : ""}" onClick=${choose} data-test="batch"><title>${told}</title>
      <circle class="control control-${batch.control}" cx=${x + width / 2} cy=${y + 10} r="7" /><text class="glyph" x=${x + width / 2} y=${y + 14}>${{ commit: "✓", abort: "✕" }[batch.control] ?? "·"}</text></g>`;
  }
  return html`<g class="box outcome-${batch.outcome} ${chosen ? "chosen" : ""}" onClick=${choose} data-test="batch"><title>${told}</title>
    <rect class="fill-${colour(batch.producer_id)}" x=${x} y=${y} width=${width} height="20" rx="3" />
    ${batch.outcome === "aborted" && html`<rect fill="url(#hatch)" x=${x} y=${y} width=${width} height="20" rx="3" />`}</g>`;
}

// -- one batch, opened

function Batch({ batch, path, onClose, now }) {
  const [values, setValues] = useState(false);
  const found = useApi(`${path}/records`, { offset: batch.base_offset, values: values ? 1 : "" }, 0);
  return html`<section class="panel" data-test="batch-panel" aria-label="Batch ${batch.base_offset}">
    <header><h2>Batch ${number(batch.base_offset)} to ${number(batch.last_offset)}</h2><span class="push"></span>
      <label class="choice"><input type="checkbox" checked=${values} onChange=${(event) => setValues(event.target.checked)} data-test="values" /> <span>show values</span></label>
      <button type="button" class="small" onClick=${onClose}>Close</button></header>
    <${Facts}
      rows=${[
        ["records", number(batch.records)],
        ["bytes", `${bytes(batch.bytes)}, ${batch.compression}`],
        ["time", html`<${Time} ms=${batch.time_ms} now=${now} exact=${true} />`],
        ["producer", batch.producer_id < 0 ? "none" : `${batch.producer_id} epoch ${batch.producer_epoch}`],
        ["first sequence", batch.base_sequence < 0 ? "none" : number(batch.base_sequence)],
        ["outcome", batch.control ? `${batch.control} marker` : batch.outcome],
        ["leader epoch", number(batch.leader_epoch)],
      ]}
    />
    <${Loaded} of=${found} empty="">
      ${found.data &&
      html`<table class="list">
        <thead><tr><th class="right">Offset</th><th>Time</th><th>Key</th><th>Value</th><th>Headers</th></tr></thead>
        <tbody>
          ${found.data.records.map(
            (record) => html`<tr key=${record.offset} data-test="record-row">
              <td data-label="Offset" class="right mono">${number(record.offset)}</td>
              <td data-label="Time"><${Time} ms=${record.time_ms} now=${now} exact=${true} /></td>
              <td data-label="Key" class="mono bytes">${shown(record.key)}${record.key_cut ? "…" : ""}</td>
              <td data-label="Value" class="mono bytes">${record.decoded ?? (values ? `${shown(record.value)}${record.value_cut ? "…" : ""}` : record.value_bytes === null ? "–" : html`<span class="dim">${bytes(record.value_bytes)}</span>`)}</td>
              <td data-label="Headers" class="mono bytes">${(record.headers ?? []).map((header) => `${header.name}=${shown(header.value)}`).join(", ")}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      ${found.data.records.length < batch.records && html`<p class="dim">The first ${number(found.data.records.length)} of ${number(batch.records)} are shown.</p>`}`}
    <//>
  </section>`;
}

function Open({ rows }) {
  if (!rows?.length) return null;
  return html`<section>
    <h2>Open transactions</h2>
    <table class="list">
      <thead><tr><th>Transactional id</th><th>State</th><th>Producer</th><th class="right">From offset</th></tr></thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr key=${row.producer_id} data-test="open-transaction-row">
            <td data-label="Transactional id"><${Transaction} id=${row.transactional_id} producerId=${row.producer_id} /></td>
            <td data-label="State"><${State} name=${row.state} /></td>
            <td data-label="Producer"><i class="swatch fill-${colour(row.producer_id)}"></i> <span class="mono">${String(row.producer_id)}</span> <span class="dim">epoch ${row.producer_epoch}</span></td>
            <td data-label="From offset" class="right mono">${number(row.first_offset)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

function Producers({ producers, now }) {
  const [all, setAll] = useState(false);
  if (!producers) return html`<p class="dim">Which producers are remembered cannot be known here.</p>`;
  if (!producers.length) return null;
  const some = all ? producers : producers.slice(0, 20);
  return html`<section>
    <h2>Producers</h2>
    <table class="list">
      <thead><tr><th>Producer</th><th>Transactional id</th><th class="right">Next sequence</th><th>Last batch</th><th>Last five batches</th><th>Refused</th></tr></thead>
      <tbody>
        ${some.map(
          (one) => html`<tr key=${one.producer_id} data-test="producer-row">
            <td data-label="Producer"><i class="swatch fill-${colour(one.producer_id)}"></i> <span class="mono">${String(one.producer_id)}</span> <span class="dim">epoch ${one.producer_epoch}</span></td>
            <td data-label="Transactional id"><${Transaction} id=${one.transactional_id} /></td>
            <td data-label="Next sequence" class="right mono">${number(one.next_sequence)}</td>
            <td data-label="Last batch"><${Time} ms=${one.last_ms} now=${now} /></td>
            <td data-label="Last five batches">${one.batches === null ? html`<span class="dim">–</span>` : one.batches.map((batch) => html`<span class="chip mono" title="offsets ${batch.first_offset} to ${batch.last_offset}">${batch.first_sequence}${batch.last_sequence === batch.first_sequence ? "" : `–${batch.last_sequence}`}</span>`)}</td>
            <td data-label="Refused">${one.refusals === null ? html`<span class="dim">–</span>` : one.refusals.length === 0 ? html`<span class="dim">never</span>` : html`<details><summary>${plural(one.refusals.length, "batch", "batches")}</summary>${one.refusals.map((refusal) => html`<p>${clock(refusal.time_ms, { today: now })} <${Badge} kind="bad">${refusal.error}<//> ${refusal.sentence}</p>`)}</details>`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    ${producers.length > some.length && html`<button type="button" onClick=${() => setAll(true)}>Show all ${number(producers.length)}</button>`}
  </section>`;
}

function Batches({ batches, chosen, onChoose, now }) {
  const [open, setOpen] = useState(false);
  return html`<section>
    <h2>Batches as a table</h2>
    <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} ${plural(batches.length, "batch", "batches")}</button>
    ${open &&
    html`<table class="list">
      <thead><tr><th class="right">Offsets</th><th class="right">Records</th><th>Time</th><th>Producer</th><th>Outcome</th><th class="right">Bytes</th><th></th></tr></thead>
      <tbody>
        ${batches.map(
          (batch) => html`<tr key=${batch.base_offset} class=${batch.base_offset === chosen ? "chosen" : ""}>
            <td data-label="Offsets" class="right mono">${number(batch.base_offset)}–${number(batch.last_offset)}</td>
            <td data-label="Records" class="right mono">${number(batch.records)}</td>
            <td data-label="Time"><${Time} ms=${batch.time_ms} now=${now} exact=${true} /></td>
            <td data-label="Producer" class="mono">${batch.producer_id < 0 ? "none" : html`<i class="swatch fill-${colour(batch.producer_id)}"></i> ${batch.producer_id} epoch ${batch.producer_epoch}`}</td>
            <td data-label="Outcome">${batch.control ? `${batch.control} marker` : batch.outcome}</td>
            <td data-label="Bytes" class="right mono">${number(batch.bytes)}</td>
            <td><button type="button" class="small" onClick=${() => onChoose(batch.base_offset)}>Open</button></td>
          </tr>`,
        )}
      </tbody>
    </table>`}
  </section>`;
}

