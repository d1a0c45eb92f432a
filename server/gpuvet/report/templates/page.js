"use strict";
(() => {
  const read = (id) => document.getElementById(id);
  const data = JSON.parse(read("data").textContent);
  const root = document.documentElement;
  const HOUR = 3600;

  // ---- small helpers; text only ever enters the page through textContent ----
  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  const two = (n) => String(n).padStart(2, "0");
  const day = (d) => `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
  const at = (seconds) => new Date(seconds * 1000);
  const clock = (seconds) => {
    const d = at(seconds);
    return `${day(d)} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}Z`;
  };
  const runs = (text) => {
    const found = [];
    for (const [, count, letter] of text.matchAll(/(\d+)([A-Z])/g)) found.push([Number(count), letter]);
    return found;
  };
  const letterAt = (text, hour) => {
    let seen = 0;
    for (const [count, letter] of runs(text)) {
      seen += count;
      if (hour < seen) return letter;
    }
    return "Z";
  };
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  // ---- theme ----
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const button = read("theme");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
    repaint();
  });
  dark.addEventListener("change", () => { name(); repaint(); });

  // ---- sortable tables ----
  const value = (cell, kind) => {
    const text = cell.textContent;
    if (kind !== "num") return text.toLowerCase();
    const share = text.match(/^([\d.,]+) of ([\d.,]+)/);
    if (share) return Number(share[2]) ? Number(share[1]) / Number(share[2]) : -1;
    const number = parseFloat(text.replace(/,/g, ""));
    return Number.isNaN(number) ? -Infinity : number;
  };
  for (const table of document.querySelectorAll("table[data-table]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const press = make("button", head.textContent);
      press.type = "button";
      head.replaceChildren(press);
      press.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const keyed = [...table.tBodies[0].rows].map((row) => [value(row.cells[column], head.dataset.kind), row]);
        keyed.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (up ? 1 : -1));
        table.tBodies[0].append(...keyed.map((pair) => pair[1]));
      });
    });
  }

  if (!data.hours) return;

  // ---- what is drawn ----
  const scroll = read("scroll"), space = read("space"), cells = read("cells"), axis = read("axis");
  const svg = read("lanes"), detail = read("detail"), find = read("find"), expand = read("expand");
  const parsed = new Map();
  const runsOf = (text) => {
    let found = parsed.get(text);
    if (!found) { found = runs(text); parsed.set(text, found); }
    return found;
  };
  const holesOf = new Map();
  for (const hole of data.holes) {
    if (!holesOf.has(hole[0])) holesOf.set(hole[0], []);
    holesOf.get(hole[0]).push(hole);
  }
  const spotsOf = new Map();
  for (const spot of data.spots) {
    if (!spotsOf.has(spot[0])) spotsOf.set(spot[0], []);
    spotsOf.get(spot[0]).push(spot);
  }
  const words = data.nodes.map((n) => `${n[0]} ${n[1]} ${n[3]} ${n[2]}`.toLowerCase());
  const fewRows = data.nodes.reduce((sum, n) => sum + 1 + n[4 + 1].length, 0) <= 64;
  expand.checked = fewRows;
  expand.disabled = find.disabled = false;

  let rows = [], box = {}, pen = {}, cursor = null, frame = 0, printing = false;

  const listRows = () => {
    const wanted = find.value.trim().toLowerCase();
    rows = [];
    data.nodes.forEach((node, index) => {
      if (wanted && !words[index].includes(wanted)) return;
      rows.push([index, -1]);
      if (expand.checked) node[5].forEach((_, source) => rows.push([index, source]));
    });
  };

  // ---- hatching: every kind of hole has a shape of its own ----
  const tile = (draw) => {
    const sheet = document.createElement("canvas");
    const scale = box.dpr;
    sheet.width = sheet.height = 8 * scale;
    const p = sheet.getContext("2d");
    p.scale(scale, scale);
    p.fillStyle = colour("hole");
    p.fillRect(0, 0, 8, 8);
    p.strokeStyle = p.fillStyle = colour("hatch");
    p.lineWidth = 1.1;
    draw(p);
    const pattern = pen.context.createPattern(sheet, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / scale));
    return pattern;
  };
  const line = (p, ...points) => {
    p.beginPath();
    for (let i = 0; i < points.length; i += 4) { p.moveTo(points[i], points[i + 1]); p.lineTo(points[i + 2], points[i + 3]); }
    p.stroke();
  };
  const rising = (p) => line(p, -1, 5, 5, -1, -1, 9, 9, -1, 3, 9, 9, 3);
  const falling = (p) => line(p, -1, 3, 5, 9, -1, -1, 9, 9, 3, -1, 9, 5);
  const dots = (p) => { for (const [x, y] of [[2, 2], [6, 6]]) { p.beginPath(); p.arc(x, y, 1.1, 0, 7); p.fill(); } };
  const paint = () => ({
    live: colour("live"), agent: colour("agent"), declared: colour("declared"), excused: colour("excused"),
    empty: tile(rising), empty_partial: tile((p) => line(p, -1, 9, 9, -1)),
    unknown: tile(falling), unknown_state: tile((p) => line(p, 4, 0, 4, 8)),
    retention_lost: tile((p) => line(p, 0, 2, 8, 2, 0, 6, 8, 6)), no_group: tile((p) => line(p, 0, 4, 8, 4)),
    not_searched: tile(dots), no_stream: tile((p) => { rising(p); falling(p); }),
  });
  const LOOKS = {
    live: "seen", agent: "health agent only", declared: "as the case states it", empty: "no line arrived",
    empty_partial: "no line in part of an hour", unknown: "count incomplete, or proves nothing",
    unknown_state: "running or stopped not known", retention_lost: "older than retention",
    no_group: "before the log group existed", not_searched: "not searched for Xids",
    no_stream: "no stream of the node", excused: "not asked for",
  };

  const legend = () => {
    const used = new Set();
    for (const node of data.nodes) {
      for (const [, letter] of runsOf(node[4])) used.add(data.codes[letter][1]);
      for (const source of node[5]) for (const [, letter] of runsOf(source[3])) used.add(data.codes[letter][1]);
    }
    const list = read("legend");
    list.replaceChildren();
    for (const [look, text] of Object.entries(LOOKS)) {
      if (!used.has(look)) continue;
      const item = make("li"), swatch = document.createElement("canvas");
      swatch.width = 22 * box.dpr;
      swatch.height = 13 * box.dpr;
      const p = swatch.getContext("2d");
      p.scale(box.dpr, box.dpr);
      p.fillStyle = pen.fill[look];
      p.fillRect(0, 0, 22, 13);
      item.append(swatch, make("span", text));
      list.append(item);
    }
    const item = make("li"), swatch = document.createElement("canvas");
    swatch.width = 22 * box.dpr;
    swatch.height = 13 * box.dpr;
    const p = swatch.getContext("2d");
    p.scale(box.dpr, box.dpr);
    p.fillStyle = pen.fill.live;
    p.fillRect(0, 0, 22, 13);
    fault(p, 11, 6.5, 4.5);
    item.append(swatch, make("span", "fault, boot or replacement in the hour"));
    list.append(item);
  };

  const fault = (p, x, y, r) => {
    p.beginPath();
    p.moveTo(x, y - r); p.lineTo(x + r, y); p.lineTo(x, y + r); p.lineTo(x - r, y);
    p.closePath();
    p.fillStyle = pen.fault;
    p.fill();
    p.lineWidth = 1;
    p.strokeStyle = pen.card;
    p.stroke();
  };

  // ---- sizes ----
  const measure = () => {
    const width = scroll.clientWidth;
    const dpr = Math.min(window.devicePixelRatio || 1, 2);
    const gutter = Math.round(Math.min(210, Math.max(96, width * 0.2)));
    let high = rows.length <= 12 ? 24 : rows.length <= 60 ? 18 : 14;
    if (printing) high = Math.max(3, Math.min(high, Math.floor(1400 / Math.max(1, rows.length))));
    const most = printing ? 1600 : Math.max(180, Math.round(window.innerHeight * 0.62));
    const view = Math.max(high, Math.min(rows.length * high, most));
    box = { width, dpr, gutter, high, view, step: (width - gutter - 6) / data.hours };
    space.style.height = `${Math.max(high, rows.length * high)}px`;
    for (const [sheet, height] of [[cells, view], [axis, 30]]) {
      sheet.style.width = `${width}px`;
      sheet.style.height = `${height}px`;
      sheet.width = Math.round(width * dpr);
      sheet.height = Math.round(height * dpr);
    }
    pen.context = cells.getContext("2d");
    pen.fill = paint();
    pen.ink = colour("ink"); pen.soft = colour("soft"); pen.line = colour("line");
    pen.card = colour("card"); pen.fault = colour("fault"); pen.focus = colour("focus");
  };

  const ticks = () => {
    const steps = [1, 2, 3, 6, 12, 24, 48, 168];
    const each = steps.find((h) => h * box.step >= 46) || 336;
    const found = [];
    for (let hour = 0; hour < data.hours; hour++) {
      if (((data.start / HOUR) + hour) % each === 0) found.push(hour);
    }
    return [found, each];
  };

  const drawAxis = () => {
    const p = axis.getContext("2d");
    p.setTransform(box.dpr, 0, 0, box.dpr, 0, 0);
    p.clearRect(0, 0, box.width, 30);
    p.font = "11px system-ui, sans-serif";
    p.textBaseline = "alphabetic";
    p.fillStyle = pen.soft;
    const [marks, each] = ticks();
    let lastDay = "";
    for (const hour of marks) {
      const x = box.gutter + hour * box.step, when = at(data.start + hour * HOUR);
      p.fillRect(Math.round(x), 25, 1, 5);
      if (each < 24) p.fillText(`${two(when.getUTCHours())}:00`, x + 3, 27);
      if (day(when) !== lastDay) {
        p.fillText(day(when).slice(5), x + 3, each < 24 ? 13 : 24);
        lastDay = day(when);
      }
    }
    p.fillText("UTC", 4, 24);
  };

  const GLYPH = { REPLACE: "\u25a0", REBOOT: "\u25b2", UNVERIFIED: "?", "NOT OBSERVABLE": "\u25cc", MONITOR: "\u25cf", "LEAVE ALONE": "\u2713" };
  const label = (p, row, y) => {
    const [index, source] = row, node = data.nodes[index];
    p.textBaseline = "middle";
    const middle = y + box.high / 2;
    if (box.high < 9) return;
    if (source < 0) {
      p.font = `${box.high >= 18 ? 12 : 10.5}px ui-monospace, Menlo, Consolas, monospace`;
      p.fillStyle = ["REPLACE", "REBOOT", "UNVERIFIED"].includes(node[1]) ? pen.fault : pen.soft;
      p.fillText(GLYPH[node[1]] || "-", 6, middle);
      p.fillStyle = pen.ink;
      p.fillText(short(p, node[0], box.gutter - 28), 22, middle);
    } else {
      p.font = "10.5px system-ui, sans-serif";
      p.fillStyle = pen.soft;
      p.fillText(short(p, `${node[5][source][2]} ${node[5][source][0]}`, box.gutter - 40), 34, middle);
    }
  };

  // The end of an id or a stream tells it from its neighbours, so the middle goes.
  const short = (p, text, room) => {
    if (p.measureText(text).width <= room) return text;
    let kept = text.length - 1, cut = text;
    do {
      const head = Math.min(3, Math.floor(kept / 3));
      cut = `${text.slice(0, head)}\u2026${text.slice(text.length - (kept - head))}`;
      kept -= 1;
    } while (kept > 4 && p.measureText(cut).width > room);
    return cut;
  };

  const draw = () => {
    frame = 0;
    const p = pen.context, top = printing ? 0 : scroll.scrollTop;
    p.setTransform(box.dpr, 0, 0, box.dpr, 0, 0);
    p.fillStyle = pen.card;
    p.fillRect(0, 0, box.width, box.view);
    const first = Math.floor(top / box.high);
    const last = Math.min(rows.length, Math.ceil((top + box.view) / box.high));
    for (let i = first; i < last; i++) {
      const y = i * box.high - top, [index, source] = rows[i], node = data.nodes[index];
      const inset = box.high >= 18 ? (source < 0 ? 2 : 5) : box.high >= 9 ? 1 : 0;
      let hour = 0;
      for (const [count, letter] of runsOf(source < 0 ? node[4] : node[5][source][3])) {
        p.fillStyle = pen.fill[data.codes[letter][1]];
        p.fillRect(box.gutter + hour * box.step, y + inset, count * box.step, box.high - 2 * inset);
        hour += count;
      }
      label(p, rows[i], y);
    }
    grid(p);
    for (let i = first; i < last; i++) {
      if (rows[i][1] >= 0) continue;
      for (const mark of spotsOf.get(rows[i][0]) || []) {
        const hour = (mark[1] - data.start) / HOUR;
        if (hour < 0 || hour >= data.hours) continue;
        fault(p, box.gutter + hour * box.step, i * box.high - top + box.high / 2, Math.min(5, box.high / 2 - 1));
      }
    }
    if (cursor && !printing) outline(p, top);
  };

  const grid = (p) => {
    p.fillStyle = pen.card;
    if (box.step >= 7) for (let hour = 1; hour < data.hours; hour++) p.fillRect(box.gutter + hour * box.step - 0.5, 0, 1, box.view);
    p.fillStyle = pen.soft;
    p.globalAlpha = 0.35;
    for (let hour = 0; hour < data.hours; hour++) {
      if (((data.start / HOUR) + hour) % 24 === 0) p.fillRect(Math.round(box.gutter + hour * box.step), 0, 1, box.view);
    }
    p.globalAlpha = 1;
  };

  const outline = (p, top) => {
    p.strokeStyle = pen.focus;
    p.lineWidth = 2;
    p.strokeRect(box.gutter + cursor.hour * box.step - 1, cursor.row * box.high - top + 1, box.step + 2, box.high - 2);
  };
  const later = () => { if (!frame) frame = requestAnimationFrame(draw); };

  // ---- details: what stands behind a cell or a mark ----
  const reasonsAt = (index, source, hour) => (holesOf.get(index) || [])
    .filter((h) => h[2] <= hour && hour < h[2] + h[3] && (source < 0 || h[1] === source))
    .map((h) => `${h[1] >= 0 ? data.nodes[index][5][h[1]][2] : "the node"}: ${clock(data.start + h[2] * HOUR)}, ${h[3]} h, ${data.words[h[4]]}`);
  const showCell = (row, hour) => {
    const [index, source] = rows[row], node = data.nodes[index];
    const letter = letterAt(source < 0 ? node[4] : node[5][source][3], hour);
    const head = make("p");
    head.append(make("b", node[0]), ` \u00b7 ${clock(data.start + hour * HOUR)} \u00b7 `, make("b", data.codes[letter][0]), ` \u00b7 ${node[1]}`);
    const list = make("ul");
    for (const own of source < 0 ? node[5] : [node[5][source]]) {
      const item = make("li");
      item.append(`${data.codes[letterAt(own[3], hour)][0]}: `, make("code", `${data.words[own[1]] || "no group"} ${own[2]}`), ` (${own[0]})`);
      list.append(item);
    }
    for (const reason of [...new Set(reasonsAt(index, source, hour))].slice(0, 4)) list.append(make("li", reason));
    const from = data.start + hour * HOUR;
    for (const spot of spotsOf.get(index) || []) {
      if (spot[1] >= from && spot[1] < from + HOUR) list.append(make("li", `${clock(spot[1])} ${data.words[spot[2]]} (${data.words[spot[3]]})`));
    }
    detail.replaceChildren(head, make("p", node[2]), list);
  };
  const showMark = (mark) => {
    const head = make("p");
    head.append(make("b", data.lanes[mark[0]]), ` \u00b7 ${clock(mark[1])}${mark[2] ? ` to ${clock(mark[2])}` : ""}${mark[4] === "seen" ? "" : ` \u00b7 ${mark[4]}`}`);
    const where = mark[3] >= 0 ? data.nodes[mark[3]][0] : "";
    const many = mark[8] > 1 ? ` and ${mark[8] - 1} more nodes` : "";
    const tail = make("p");
    tail.append(where ? `${where}${many} \u00b7 ` : "", `source ${mark[6]} \u00b7 `, make("code", mark[7] || "no evidence id"));
    detail.replaceChildren(head, make("p", mark[5]), tail);
  };

  // ---- pointer and keys on the map ----
  const locate = (event) => {
    const area = cells.getBoundingClientRect();
    const hour = Math.floor((event.clientX - area.left - box.gutter) / box.step);
    const row = Math.floor((event.clientY - area.top + scroll.scrollTop) / box.high);
    return rows[row] && hour >= 0 && hour < data.hours ? { row, hour } : null;
  };
  cells.addEventListener("pointermove", (event) => {
    const found = locate(event);
    if (!found || (cursor && cursor.row === found.row && cursor.hour === found.hour)) return;
    cursor = found;
    showCell(found.row, found.hour);
    later();
  });
  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -1e9], End: [0, 1e9] };
  cells.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move || !rows.length) return;
    event.preventDefault();
    const from = cursor || { row: 0, hour: 0 };
    const clamp = (n, most) => Math.max(0, Math.min(most, n));
    cursor = cursor ? { row: clamp(from.row + move[0], rows.length - 1), hour: clamp(from.hour + move[1], data.hours - 1) } : from;
    const y = cursor.row * box.high;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    if (y + box.high > scroll.scrollTop + box.view) scroll.scrollTop = y + box.high - box.view;
    showCell(cursor.row, cursor.hour);
    later();
  });
  cells.addEventListener("focus", () => {
    if (!rows.length) return;
    cursor = cursor && rows[cursor.row] ? cursor : { row: 0, hour: 0 };
    showCell(cursor.row, cursor.hour);
    later();
  });
  scroll.addEventListener("scroll", later, { passive: true });

  // ---- swim lanes, in the map's own time ----
  const NS = "http://www.w3.org/2000/svg";
  const shape = (tag, attributes) => {
    const node = document.createElementNS(NS, tag);
    for (const [key, text] of Object.entries(attributes)) node.setAttribute(key, text);
    return node;
  };
  const triangle = (x, y, r, up) => `M${x} ${y - r * up}L${x + r} ${y + r * 0.8 * up}L${x - r} ${y + r * 0.8 * up}Z`;
  const OUTLINES = [
    (x, y) => triangle(x, y, 6, 1),
    (x, y) => `M${x - 5} ${y}L${x} ${y - 6}L${x + 5} ${y}L${x} ${y + 6}Z`,
    (x, y) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z`,
    (x, y) => `M${x - 6} ${y - 3}L${x} ${y - 3}L${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x} ${y + 3}L${x - 6} ${y + 3}Z`,
    (x, y) => triangle(x, y, 6, -1),
    (x, y) => `M${x - 5} ${y - 5}h10v10h-10Z`,
  ];
  const outlineOf = (lane, x, y) => (OUTLINES[lane] || OUTLINES[2])(x, y);
  const drawLanes = () => {
    const used = [...new Set(data.marks.map((m) => m[0]))].sort((a, b) => a - b);
    const step = 24, height = used.length * step + 4, span = data.hours * HOUR;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${box.width} ${Math.max(height, 4)}`);
    svg.setAttribute("height", String(height));
    svg.style.width = `${box.width}px`;
    used.forEach((lane, place) => {
      const y = place * step + step / 2;
      svg.append(shape("line", { class: "rule", x1: box.gutter, x2: box.width - 6, y1: y, y2: y }));
      const text = shape("text", { x: 6, y: y + 4 });
      text.textContent = data.lanes[lane];
      svg.append(text);
    });
    const reach = box.step * data.hours;
    const place = (seconds) => box.gutter + Math.max(0, Math.min(1, (seconds - data.start) / span)) * reach;
    for (const [number, mark] of data.marks.entries()) {
      const y = used.indexOf(mark[0]) * step + step / 2, x = Math.round(place(mark[1]) * 10) / 10;
      if (mark[2]) svg.append(shape("line", { class: "span", x1: x, x2: place(mark[2]), y1: y, y2: y }));
      const node = shape("path", { class: `mark l${mark[0]} ${mark[4]}`, d: outlineOf(mark[0], x, y), tabindex: number ? "-1" : "0", role: "img" });
      const where = mark[3] >= 0 ? `, ${data.nodes[mark[3]][0]}` : "";
      node.setAttribute("aria-label", `${data.lanes[mark[0]]}, ${clock(mark[1])}: ${mark[5]}${where}`);
      node.addEventListener("pointerenter", () => showMark(mark));
      node.addEventListener("focus", () => showMark(mark));
      svg.append(node);
    }
  };
  svg.addEventListener("keydown", (event) => {
    const all = [...svg.querySelectorAll(".mark")], now = all.indexOf(document.activeElement);
    const next = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (now < 0 || next === undefined || !all[next]) return;
    event.preventDefault();
    all[now].setAttribute("tabindex", "-1");
    all[next].setAttribute("tabindex", "0");
    all[next].focus();
  });

  // ---- all of it ----
  function repaint() {
    if (!data.hours) return;
    measure();
    drawAxis();
    draw();
    drawLanes();
    legend();
  }
  const relist = () => { cursor = null; scroll.scrollTop = 0; listRows(); repaint(); };
  find.addEventListener("input", relist);
  expand.addEventListener("change", relist);
  let wide = 0;
  new ResizeObserver(() => {
    if (printing || scroll.clientWidth === wide) return;
    wide = scroll.clientWidth;
    repaint();
  }).observe(scroll);
  addEventListener("beforeprint", () => { printing = true; repaint(); });
  addEventListener("afterprint", () => { printing = false; repaint(); });
  listRows();
})();
