// What the page asks, and how: the token, errors as sentences, the event stream. The paths are described in API.md.

const KEPT = "oncelog-token";

/** The token of the printed address; it leaves the address bar, so that nobody copies it by accident. */
function takeToken() {
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given) {
    sessionStorage.setItem(KEPT, given);
    url.searchParams.delete("token");
    history.replaceState(null, "", url);
  }
  return sessionStorage.getItem(KEPT);
}

let token = takeToken();

export function setToken(given) {
  token = given;
  sessionStorage.setItem(KEPT, given);
}

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function asked(path, options) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The program that serves this page does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  let text = `${answer.status} ${answer.statusText}`;
  try {
    text = (await answer.json()).error ?? text;
  } catch {
    // an answer without a sentence of ours
  }
  throw new ApiError(answer.status, text);
}

export function query(values) {
  const filled = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return filled.length ? `?${new URLSearchParams(filled)}` : "";
}

/** `{ data, total }`; `total` is the length of the whole list, null for what is no list. Throws ApiError. */
export async function get(path, values = {}, signal = undefined) {
  const answer = await asked(`/api/v1/${path}${query(values)}`, { signal });
  const total = answer.headers.get("X-Total-Count");
  return { data: await answer.json(), total: total === null ? null : Number(total) };
}

export async function post(path, body) {
  const answer = await asked(`/api/v1/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  return answer.json();
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Server-sent events, read with fetch because EventSource cannot send the token; begins anew when the connection is lost. */
export function follow(onEvent, onLink) {
  let pause = FIRST_PAUSE_MS;
  let stopped = false;
  const control = new AbortController();

  async function read() {
    const answer = await asked("/api/v1/events", { signal: control.signal, headers: { Accept: "text/event-stream" } });
    onLink("live", null);
    pause = FIRST_PAUSE_MS;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new ApiError(0, "The connection was closed.");
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach((block) => hear(block));
    }
  }

  function hear(block) {
    let name = "message";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) name = line.slice(6).trim();
      if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
    }
    if (data.length) onEvent(name, JSON.parse(data.join("\n")));
  }

  async function run() {
    while (!stopped) {
      try {
        await read();
      } catch (error) {
        if (stopped) return;
        onLink(error.status === 401 ? "denied" : "lost", error.message);
        if (error.status === 401) return;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  run();
  return () => {
    stopped = true;
    control.abort();
  };
}
