// Groups: how far they are behind what they may read, who is in them, and why they rebalanced.

import { useApi, useLive, useSettled } from "./live.js";
import { Badge, Facts, Filter, Loaded, Pages, State, Time, Transaction, Where, link } from "./parts.js";
import { html, useState } from "./preact-htm.js";
import { client, duration, number, where } from "./text.js";

const LIMIT = 50;

export function Groups() {
  const [typed, setTyped] = useState("");
  const [offset, setOffset] = useState(0);
  const q = useSettled(typed);
  const found = useApi("groups", { q, offset, limit: LIMIT });
  return html`
    <h1>Groups</h1>
    <${Filter} label="Part of a group's id" value=${typed} onInput=${(text) => (setTyped(text), setOffset(0))} />
    <${Loaded} of=${found} empty=${q ? "No group is called like that." : "There is no group yet."}>
      <table class="list">
        <thead>
          <tr><th>Group</th><th>Type</th><th>State</th><th class="right">Members</th><th class="right">Lag it can read</th><th class="right">Lag to the end</th><th>Waits behind a transaction</th></tr>
        </thead>
        <tbody>
          ${(found.data ?? []).map(
            (row) => html`<tr key=${row.group_id} data-test="group-row">
              <td data-label="Group"><a href=${link("groups", row.group_id)}>${row.group_id}</a></td>
              <td data-label="Type">${row.type}</td>
              <td data-label="State"><${State} name=${row.state} /></td>
              <td data-label="Members" class="right mono">${row.members === null ? "–" : number(row.members.length)}</td>
              <td data-label="Lag it can read" class="right mono">${number(row.lag)}</td>
              <td data-label="Lag to the end" class="right mono">${number(row.lag_to_end)}</td>
              <td data-label="Waits behind a transaction">${row.waits_behind?.length ? html`<${Badge} kind="bad">${row.waits_behind.slice(0, 3).join(", ")}${row.waits_behind.length > 3 ? ` and ${row.waits_behind.length - 3} more` : ""}<//>` : html`<span class="dim">no</span>`}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      <${Pages} total=${found.total} offset=${offset} limit=${LIMIT} onOffset=${setOffset} />
    <//>
  `;
}

export function GroupView({ id }) {
  const found = useApi(`groups/${encodeURIComponent(id)}`, {}, 3000);
  return html`
    <p class="crumbs"><a href=${link("groups")}>Groups</a> / ${id}</p>
    <h1>${id}</h1>
    <${Loaded} of=${found}>${found.data && html`<${Group} group=${Array.isArray(found.data) ? found.data[0] : found.data} />`}<//>
  `;
}

function Group({ group }) {
  const { now } = useLive();
  return html`
    <${Facts}
      rows=${[
        ["type", group.type],
        ["state", html`<${State} name=${group.state} />`],
        ["assignor", group.assignor ?? "–"],
        ["epoch", number(group.epoch)],
        ["lag it can read", number(group.lag)],
        ["lag to the end", number(group.lag_to_end)],
      ]}
    />
    ${group.waits_behind?.length > 0 && html`<p class="problem">It waits behind an open transaction in ${group.waits_behind.join(", ")}. <a href=${link("stuck")}>Why, and what to do</a></p>`}
    <section>
      <h2>Offsets</h2>
      ${!group.offsets?.length
        ? html`<p class="empty">Nothing is committed, and no partition is assigned.</p>`
        : html`<table class="list">
            <thead><tr><th>Partition</th><th class="right">Committed</th><th class="right">Last stable</th><th class="right">High watermark</th><th class="right">Lag it can read</th><th class="right">Lag to the end</th><th>Pending in transactions</th><th>Committed at</th></tr></thead>
            <tbody>
              ${group.offsets.map(
                (row) => html`<tr key=${where(row)} data-test="offset-row">
                  <td data-label="Partition"><${Where} ...${row} /></td>
                  <td data-label="Committed" class="right mono">${number(row.committed_offset)}</td>
                  <td data-label="Last stable" class="right mono">${number(row.last_stable_offset)}</td>
                  <td data-label="High watermark" class="right mono">${number(row.high_watermark)}</td>
                  <td data-label="Lag it can read" class="right mono">${number(row.lag)}</td>
                  <td data-label="Lag to the end" class="right mono">${number(row.lag_to_end)}</td>
                  <td data-label="Pending">${row.pending?.length ? row.pending.map((one) => html`<div>${number(one.offset)} by <${Transaction} id=${one.transactional_id} producerId=${one.producer_id} epoch=${one.producer_epoch} />${one.since_ms ? html` <span class="dim">for ${duration(now - one.since_ms)}</span>` : ""}</div>`) : html`<span class="dim">${row.pending ? "none" : "–"}</span>`}</td>
                  <td data-label="Committed at"><${Time} ms=${row.commit_ms} now=${now} /></td>
                </tr>`,
              )}
            </tbody>
          </table>`}
    </section>
    <section>
      <h2>Members</h2>
      ${!group.members?.length
        ? html`<p class="empty">${group.members === null ? "Its members cannot be known here." : "Nobody is in it."}</p>`
        : html`<table class="list">
            <thead><tr><th>Member</th><th>Client</th><th>Static id</th><th>Partitions</th></tr></thead>
            <tbody>
              ${group.members.map(
                (one) => html`<tr key=${one.member_id} data-test="member-row">
                  <td data-label="Member" class="mono bytes">${one.member_id}</td>
                  <td data-label="Client">${client(one.client_id, one.client_host)}</td>
                  <td data-label="Static id">${one.group_instance_id ?? html`<span class="dim">–</span>`}</td>
                  <td data-label="Partitions">${one.partitions === null ? "–" : one.partitions.length ? one.partitions.slice(0, 20).map(where).join(", ") : "none"}${one.partitions?.length > 20 ? ` and ${one.partitions.length - 20} more` : ""}</td>
                </tr>`,
              )}
            </tbody>
          </table>`}
    </section>
    <section>
      <h2>Rebalances</h2>
      ${!group.rebalances?.length
        ? html`<p class="empty">${group.rebalances === null ? "They cannot be known here." : "None since the broker was started."}</p>`
        : html`<ol class="life">
            ${group.rebalances.map(
              (one, at) => html`<li key=${at} class="event event-busy" data-test="rebalance-row">
                <div class="when"><${Time} ms=${one.time_ms} now=${now} exact=${true} /></div>
                <div class="what"><p><${Badge} kind="busy">epoch ${one.epoch ?? "–"}<//> ${one.sentence}</p><p class="dim">${client(one.client_id, one.client_host)}</p></div>
              </li>`,
            )}
          </ol>`}
    </section>
  `;
}
