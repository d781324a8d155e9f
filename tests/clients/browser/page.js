// The inspector's page in a real Chromium: node page.js SCENARIO CHROMIUM URL [ARGUMENT…]; the last line printed is JSON.
// Whatever the page writes to its console as an error, and every question a script of a stranger's text could ask, is told as `trouble`.

import { chromium } from "playwright-core";

const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const SIZES = { desk: [1280, 900, "light"], dark: [1280, 900, "dark"], phone: [390, 844, "light"] };

const [scenario, executablePath, url, ...given] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: QUIET });
const trouble = [];

async function opened([width, height, colorScheme]) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: "en-US" });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("dialog", (dialog) => (trouble.push(`asked: ${dialog.message()}`), dialog.dismiss()));
  await page.goto(url);
  return page;
}

const test = (page, name) => page.locator(`[data-test="${name}"]`);
const go = (page, hash) => page.evaluate((to) => (location.hash = to), hash);

/** Elements that reach over the edge of the window, or controls that lie over each other. */
function misplaced() {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`scrolls sideways by ${document.documentElement.scrollWidth - innerWidth}`);
  const controls = [...document.querySelectorAll("main button, main a, main input, main select")].filter((one) => one.getClientRects().length === 1 && !one.closest("svg"));
  const boxes = controls.map((one) => [one, one.getBoundingClientRect()]);
  boxes.forEach(([one, a], at) => {
    for (const [other, b] of boxes.slice(at + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) {
        found.push(`"${one.textContent.trim()}" lies over "${other.textContent.trim()}"`);
      }
    }
  });
  for (const one of document.querySelectorAll("main td, main dd, main h1, main h2, main p, .badge, button")) {
    if (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline" && getComputedStyle(one).overflow !== "visible") found.push(`cut: ${one.textContent.trim().slice(0, 60)}`);
  }
  return found;
}

const scenarios = {
  /** One look tells who holds whom up; the button ends it. ARGUMENT: the transactional id. */
  async release(id) {
    const page = await opened(SIZES.desk);
    const row = test(page, "stuck-row").filter({ hasText: id }).first();
    await row.waitFor();
    const told = await row.innerText();
    await row.locator('[data-test="abort"]').click();
    await test(page, "ask").waitFor();
    await test(page, "cancel").click();
    const left = await test(page, "stuck-row").count();
    await row.locator('[data-test="abort"]').click();
    await test(page, "confirm").click();
    const said = await test(page, "said").innerText();
    await test(page, "nothing-stuck").waitFor({ timeout: 20_000 });
    await go(page, `#/transactions/${encodeURIComponent(id)}`);
    await test(page, "life-event").first().waitFor();
    return { told, left, said, url: page.url(), life: await test(page, "life").innerText() };
  },

  /** Every view that ARGUMENTs name, in each size: pictures into the first, and what is misplaced. */
  async look(folder, ...hashes) {
    const wrong = {};
    for (const [size, how] of Object.entries(SIZES)) {
      const page = await opened(how);
      for (const hash of hashes) {
        await go(page, hash);
        await page.locator("main h1").waitFor();
        await page.waitForFunction(() => !document.querySelector("main .starting"));
        await page.screenshot({ path: `${folder}/${size}-${hash.replaceAll(/[^\w]+/g, "_")}.png`, fullPage: true });
        const found = await page.evaluate(misplaced);
        if (found.length) wrong[`${size} ${hash}`] = found;
      }
      await page.context().close();
    }
    return { wrong };
  },

  /** The keyboard alone: to the first view's button, its question, and away again. */
  async keyboard() {
    const page = await opened(SIZES.desk);
    await test(page, "stuck-row").first().waitFor();
    const reached = [];
    for (let step = 0; step < 40; step += 1) {
      await page.keyboard.press("Tab");
      const name = await page.evaluate(() => document.activeElement.dataset.test ?? document.activeElement.className);
      reached.push(name);
      if (name === "abort") break;
    }
    await page.keyboard.press("Enter");
    await test(page, "ask").waitFor();
    const focused = await page.evaluate(() => document.activeElement.dataset.test);
    await page.keyboard.press("Escape");
    await test(page, "ask").waitFor({ state: "detached" });
    return { reached, focused };
  },

  /** Without the token, then with it. ARGUMENT: the token. */
  async token(given) {
    const page = await opened(SIZES.desk);
    await test(page, "token").fill(given);
    await page.keyboard.press("Enter");
    await page.locator("main h1", { hasText: "Why does my consumer" }).waitFor();
    trouble.length = 0; // the refusals that were asked for
    return { url: page.url() };
  },

  /** How long the first view takes, in ms, from navigation to the first row. */
  async first() {
    const page = await opened(SIZES.desk);
    await test(page, "stuck-row").first().waitFor();
    return { ms: await page.evaluate(() => performance.now()), rows: await test(page, "stuck-row").count() };
  },
};

try {
  const facts = await scenarios[scenario](...given);
  console.log(JSON.stringify({ ...facts, trouble }));
} finally {
  await browser.close();
}
