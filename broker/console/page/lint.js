// Mistakes of clients that cost them exactly-once, while they are made.

import { useApi, useLive } from "./live.js";
import { Loaded, Time } from "./parts.js";
import { html, useEffect } from "./preact-htm.js";
import { client, plural } from "./text.js";

export function Lint() {
  const { heard, now } = useLive();
  const found = useApi("lint", {}, 10_000);
  useEffect(() => {
    if (heard.lint) found.reload();
  }, [heard.lint]);
  return html`
    <h1>Mistakes</h1>
    <p class="lead">What clients do that may lose or double records, and what to write instead.</p>
    <${Loaded} of=${found} empty="No client makes a mistake that is known here.">
      <ol class="cards">
        ${(found.data ?? []).map(
          (row) => html`<li key=${`${row.rule}/${row.client_id}/${row.subject}`}>
            <article class="card" data-test="lint-row">
              <header><h2>${row.title}</h2><span class="push"></span><span class="dim">${plural(row.count, "time")}, last <${Time} ms=${row.last_ms} now=${now} /></span></header>
              <p class="dim">${client(row.client_id, row.client_host)}${row.subject ? ` · ${row.subject}` : ""}</p>
              <p class="sentence">${row.evidence}</p>
              <p class="instead"><b>Instead:</b> ${row.instead}</p>
            </article>
          </li>`,
        )}
      </ol>
    <//>
  `;
}
