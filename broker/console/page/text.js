// Numbers and times as people read them. Null is "not known here" and shown as a dash.

export const DASH = "–";

export function number(value) {
  return value === null || value === undefined ? DASH : Number(value).toLocaleString("en-US");
}

/** 900 ms, 12 s, 3 min 20 s, 2 h 5 min, 4 d 3 h. */
export function duration(ms) {
  if (ms === null || ms === undefined) return DASH;
  if (ms < 0) return `${DASH}${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const steps = [
    [86_400_000, "d", 3_600_000, "h"],
    [3_600_000, "h", 60_000, "min"],
    [60_000, "min", 1000, "s"],
  ];
  for (const [large, largeName, small, smallName] of steps) {
    if (ms >= large) {
      const rest = Math.floor((ms % large) / small);
      return `${Math.floor(ms / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
    }
  }
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 1000)} s`;
}

export function bytes(count) {
  if (count === null || count === undefined) return DASH;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = count;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

const two = (value) => String(value).padStart(2, "0");

/** The time of day here, and the day when it is another one. */
export function clock(ms, { exact = false, today = Date.now() } = {}) {
  if (ms === null || ms === undefined || ms < 0) return DASH;
  const at = new Date(ms);
  let text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (exact) text += `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return at.toDateString() === new Date(today).toDateString() ? text : `${day(at)} ${text}`;
}

function day(at) {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A key or a value of the API: text, or bytes that are none as {"hex": …}. */
export function shown(value) {
  if (value === null || value === undefined) return DASH;
  return typeof value === "string" ? value : `0x${value.hex}`;
}

/** A member of a cluster, as far as it is known: "checkout at 10.0.0.7". */
export function client(id, host) {
  if (!id && !host) return DASH;
  return id && host ? `${id} at ${host}` : id || host;
}

export function where(place) {
  return `${place.topic}-${place.partition}`;
}

/** One of `count` colours for each producer, the same wherever it is shown. */
export function colour(producerId, count = 10) {
  if (producerId === null || producerId === undefined || producerId < 0) return "none";
  return String(Number(BigInt(producerId) % BigInt(count)));
}

/** What kafka-console tools would be typed as; copied, never run. */
export async function copy(text) {
  await navigator.clipboard.writeText(text);
}
