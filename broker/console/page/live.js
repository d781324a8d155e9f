// What is asked again and again, and the clock that ages go by.

import { get } from "./api.js";
import { createContext, useCallback, useContext, useEffect, useRef, useState } from "./preact-htm.js";

/** `{ overview, stuck, link, heard, now, refused }` of the event stream, for everybody. */
export const Live = createContext(null);
export const useLive = () => useContext(Live);

/** Milliseconds of the broker's clock, moving on by ours; once a second. */
export function useClock(offsetMs) {
  const [now, setNow] = useState(Date.now() + offsetMs);
  useEffect(() => {
    const tick = () => document.hidden || setNow(Date.now() + offsetMs);
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [offsetMs]);
  return now;
}

/** Asks `path` now and every `everyMs` while the page is seen: `{ data, total, error, loading, reload }`. A path of null asks nothing. */
export function useApi(path, values = {}, everyMs = 5000) {
  const [state, setState] = useState({ key: null, data: null, total: null, error: null });
  const [round, setRound] = useState(0);
  const key = JSON.stringify([path, values]);
  useEffect(() => {
    if (path === null) return undefined;
    const control = new AbortController();
    let timer = null;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const { data, total } = await get(path, values, control.signal);
          setState({ key, data, total, error: null });
        } catch (error) {
          if (control.signal.aborted) return;
          setState((before) => ({ ...(before.key === key ? before : { data: null, total: null }), key, error }));
        }
      }
      if (!control.signal.aborted && everyMs) timer = setTimeout(ask, everyMs);
    };
    ask();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [key, round, everyMs]);
  const current = state.key === key ? state : { data: null, total: null, error: null };
  return { ...current, loading: path !== null && state.key !== key, reload: useCallback(() => setRound((n) => n + 1), []) };
}

/** A text that follows what is typed after a pause, so that not every key asks. */
export function useSettled(value, pauseMs = 250) {
  const [settled, setSettled] = useState(value);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return undefined;
    }
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return settled;
}
