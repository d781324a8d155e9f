// Everything that was fenced, refused, rebalanced or timed out, with its cause in a sentence.

import { useApi, useLive } from "./live.js";
import { Badge, Choice, Loaded, Pages, Time, Transaction, Where, link } from "./parts.js";
import { html, useEffect, useState } from "./preact-htm.js";
import { client } from "./text.js";

const LIMIT = 100;
const KINDS = [
  ["", "everything"],
  ["fenced", "fenced"],
  ["concurrent", "concurrent transactions"],
  ["invalid_state", "invalid states"],
  ["refused", "refused batches"],
  ["rebalance", "rebalances"],
  ["timeout", "time-outs"],
  ["aborted", "aborted"],
];
const LOOKS = { fenced: "bad", refused: "bad", invalid_state: "bad", timeout: "bad", concurrent: "busy", rebalance: "busy", aborted: "quiet" };

export function Fencings({ asked }) {
  const { heard, now, overview } = useLive();
  const [kind, setKind] = useState(asked.kind ?? "");
  const [offset, setOffset] = useState(0);
  const found = useApi("fencings", { ...asked, kind, offset, limit: LIMIT }, 0);
  useEffect(() => {
    if (heard.fencing) found.reload();
  }, [heard.fencing]);
  const known = overview?.can?.fencings !== false;
  return html`
    <h1>Fencing journal</h1>
    ${!known && html`<p class="dim">Requests cannot be seen here: only what the records tell of fencings is listed.</p>`}
    <div class="filter"><${Choice} label="Show" value=${kind} options=${KINDS} onChange=${(chosen) => (setKind(chosen), setOffset(0))} /></div>
    <${Loaded} of=${found} empty="Nobody was fenced or refused.">
      <ol class="life">
        ${(found.data ?? []).map(
          (one) => html`<li key=${one.number} class="event event-${LOOKS[one.kind] ?? "quiet"}" data-test="fencing-row">
            <div class="when"><${Time} ms=${one.time_ms} now=${now} exact=${true} /></div>
            <div class="what">
              <p><${Badge} kind=${LOOKS[one.kind] ?? "quiet"}>${one.error ?? one.kind}<//> ${one.cause}</p>
              <p class="dim">
                ${one.api ? `${one.api} · ` : ""}${client(one.client_id, one.client_host)}${one.transactional_id ? html` · <${Transaction} id=${one.transactional_id} />` : ""}${one.group_id ? html` · group <a href=${link("groups", one.group_id)}>${one.group_id}</a>` : ""}${one.topic !== null && one.topic !== undefined && one.partition !== null ? html` · <${Where} topic=${one.topic} partition=${one.partition} />` : ""}
              </p>
              ${(one.by_client_id || one.by_client_host) && html`<p class="by">by ${client(one.by_client_id, one.by_client_host)}: epoch ${one.epoch_before ?? "–"} before, ${one.epoch_after ?? "–"} after</p>`}
            </div>
          </li>`,
        )}
      </ol>
      <${Pages} total=${found.total} offset=${offset} limit=${LIMIT} onOffset=${setOffset} />
    <//>
  `;
}
