"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = !text;
    tip.style.left = Math.min(x + 12, innerWidth - 240) + "px";
    tip.style.top = y + 14 + "px";
  };
  document.addEventListener("mousemove", (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip], figure [aria-label]") : null;
    const sort = (mark && mark.getAttribute("aria-roledescription")) || "";
    const plain = /axis|legend|container|title/.test(sort) || (mark && mark.tagName === "svg");
    show(mark && !plain ? mark.dataset.tip || mark.getAttribute("aria-label") : "", event.clientX, event.clientY);
  });
  // Folded parts open for print, and where a link leads into them.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  const wanted = () => {
    try { return decodeURIComponent(location.hash.slice(1)); } catch (error) { return ""; }
  };
  const reveal = () => {
    const target = wanted() && document.getElementById(wanted());
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  const source = document.getElementById("explorer-data");
  if (!source) return;
  const sets = JSON.parse(source.textContent);
  const LABELS = ["stereotype", "antistereotype", "unrelated"];
  const PAGE = 8;
  const get = (id) => document.getElementById(id);
  const box = Object.fromEntries(
    ["data", "view", "category", "side", "flag", "order", "search"].map((id) => [id, get(id)]));
  const make = (name, text, cls) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (cls) made.className = cls;
    return made;
  };
  const options = (select, values, all) => {
    select.replaceChildren();
    if (all) select.append(new Option(all, ""));
    values.forEach(([value, text]) => select.append(new Option(text, value)));
    select.parentElement.hidden = values.length < 2;
  };
  for (const some of sets) {
    some.folded = some.items.map((item) => [item[0], ...item[4]].join("\n").toLowerCase());
  }
  let set = sets[0], view = set.views[0], found = [], page = 0;
  const distinct = (place, cut) => [...new Set(set.items.flatMap((i) => (cut ? i[place].split("; ") : [i[place]])))]
    .filter(Boolean).sort().map((v) => [v, v]);
  const fill = () => {
    options(box.view, set.views.map((v, i) => [i, v.measure + " (" + v.model + ")"]));
    options(box.category, distinct(1), "all");
    options(box.side, distinct(2), "all");
    options(box.flag, distinct(3, true), "all");
    if (set.category) box.category.value = set.category;
  };
  const pull = (i) => (view.pulls[i] === null ? NaN : view.pulls[i]);
  const least = (v) => (Number.isNaN(v) ? -Infinity : v);
  const ORDERS = {
    strong: (a, b) => least(Math.abs(pull(b))) - least(Math.abs(pull(a))),
    pro: (a, b) => least(pull(b)) - least(pull(a)),
    anti: (a, b) => least(-pull(b)) - least(-pull(a)),
  };
  const choose = () => {
    const words = box.search.value.toLowerCase().split(" ").filter(Boolean);
    const [category, side, flag] = [box.category.value, box.side.value, box.flag.value];
    found = [];
    set.items.forEach((item, i) => {
      if (category && item[1] !== category) return;
      if (side && item[2] !== side) return;
      if (flag && !item[3].split("; ").includes(flag)) return;
      if (words.every((w) => set.folded[i].includes(w))) found.push(i);
    });
    if (ORDERS[box.order.value]) found.sort(ORDERS[box.order.value]);
    page = 0;
    draw();
  };
  const runs = (one, two) => {
    let start = 0, end = 0;
    const most = Math.min(one.length, two.length);
    while (start < most && one[start] === two[start]) start++;
    while (end < most - start && one[one.length - 1 - end] === two[two.length - 1 - end]) end++;
    return [start, end];
  };
  const tokens = (i, k) => (view.tokens && view.tokens[i][k]) || null;
  const parts = (text, cells) => cells[0].map((start, n) => [...text].slice(start, cells[1][n]).join(""));
  const shade = (difference) => {
    const strength = Math.min(Math.abs(difference) / 3, 1) * 0.6;
    return "rgba(var(--" + (difference > 0 ? "pro" : "anti") + ")," + strength.toFixed(2) + ")";
  };
  // Each token of a sentence with its counterpart in the other sentence; words that
  // differ are compared with the mean of their counterparts.
  const compared = (i, k) => {
    const other = 1 - k, mine = tokens(i, k), theirs = tokens(i, other), texts = set.items[i][4];
    if (!mine || !theirs) return null;
    const [start, end] = runs(parts(texts[k], mine), parts(texts[other], theirs));
    const some = theirs[2].slice(start, theirs[2].length - end);
    const middle = some.length ? some.reduce((a, b) => a + b, 0) / some.length : null;
    const size = mine[2].length, back = theirs[2].length - size;
    return mine[2].map((value, n) => {
      const changed = n >= start && n < size - end;
      const against = changed ? middle : theirs[2][n < start ? n : n + back];
      return { changed, value: value / 100, against: against === null ? null : against / 100,
        attention: mine[3] ? mine[3][n] / 1000 : null };
    });
  };
  // The characters of a sentence that are of words which differ from those of the other.
  const differing = (i, k) => {
    const texts = set.items[i][4];
    if (k > 1 || texts.length < 2) return [0, 0];
    const [mine, theirs] = [texts[k], texts[1 - k]].map((text) => text.split(" "));
    const [start, end] = runs(mine, theirs);
    const size = (words) => words.reduce((sum, word) => sum + [...word].length + 1, 0);
    const from = size(mine.slice(0, start));
    return [from, Math.max(from, [...texts[k]].length - size(mine.slice(mine.length - end)))];
  };
  // Text that the measure did not ask for, with what differs underlined.
  const between = (line, text, from, to, [start, end]) => {
    const a = Math.min(Math.max(start, from), to), b = Math.min(Math.max(end, from), to);
    line.append(text.slice(from, a).join(""));
    if (b > a) line.append(make("mark", text.slice(a, b).join("")));
    line.append(text.slice(b, to).join(""));
  };
  const sentence = (i, k) => {
    const text = [...set.items[i][4][k]], line = make("span", undefined, "sentence");
    line.append(make("span", LABELS[k], "who"), " ");
    const cells = tokens(i, k), facts = k < 2 ? compared(i, k) : null, change = differing(i, k);
    if (!cells || !facts) {
      between(line, text, 0, text.length, change);
      return line;
    }
    let at = 0;
    facts.forEach((fact, n) => {
      const start = cells[0][n], end = cells[1][n];
      if (start > at) between(line, text, at, start, change);
      const said = text.slice(Math.max(start, at), end).join("");
      const span = make(fact.changed ? "mark" : "span", said, "token");
      if (fact.against !== null) {
        const difference = fact.value - fact.against;
        span.style.backgroundColor = shade(k === 0 ? difference : -difference);
        span.dataset.tip = "log p " + fact.value.toFixed(2) + ", in the other sentence " +
          fact.against.toFixed(2) + (fact.attention === null ? "" : ", attention " + fact.attention.toFixed(3));
      }
      line.append(span);
      at = Math.max(at, end);
    });
    between(line, text, at, text.length, change);
    return line;
  };
  const detail = (i) => {
    const table = make("table"), head = make("tr");
    table.append(make("caption", "Each token and its counterpart in the other sentence"));
    for (const name of ["sentence", "token", "log p", "counterpart", "difference", "attention"]) {
      const cell = make("th", name, "left");
      cell.scope = "col";
      head.append(cell);
    }
    table.append(head);
    const number = (v, digits) => (v === null ? "" : v.toFixed(digits));
    for (const k of [0, 1]) {
      const cells = tokens(i, k), text = [...set.items[i][4][k]];
      (compared(i, k) || []).forEach((fact, n) => {
        const row = make("tr");
        [LABELS[k], text.slice(cells[0][n], cells[1][n]).join(""), number(fact.value, 2), number(fact.against, 2),
          fact.against === null ? "" : number(fact.value - fact.against, 2), number(fact.attention, 3),
        ].forEach((v, c) => row.append(make("td", v, c < 2 ? "left" : "")));
        table.append(row);
      });
    }
    const outer = make("div", undefined, "scroll");
    outer.append(table);
    return outer;
  };
  const named = (some, id) => "item-" + sets.indexOf(some) + "-" + id;
  const reason = (value) => value === null ? "" : value === 0
    ? "Both sentences have the same score (tie)."
    : "Counts " + (value > 0 ? "for" : "against") + " the stereotype: its sentence scores " +
      (value > 0 ? "higher" : "lower") + " than the other, by " + Math.abs(value).toFixed(2) + ".";
  const drawn = (i) => {
    const [id, category, side, flags, texts] = set.items[i], row = make("li"), value = view.pulls[i];
    row.dataset.item = id;
    const to = value > 0 ? " towards the stereotype" : value < 0 ? " towards the antistereotype" : "";
    const said = value === null ? "not scored" : "influence " + (value > 0 ? "+" : "") + value.toFixed(3) + to;
    row.id = named(set, id);
    const link = make("a", id);
    link.href = "#" + encodeURIComponent(row.id);
    const head = make("span", said + " · ", "meta");
    head.append(link, [category, side, flags].filter(Boolean).map((t) => " · " + t).join(""));
    row.append(head, make("span", reason(value), "sentence meta"));
    texts.forEach((_, k) => row.append(sentence(i, k)));
    if (tokens(i, 0)) {
      const more = make("details");
      more.append(make("summary", "tokens", "meta"));
      more.addEventListener("toggle", () => {
        if (more.open && more.children.length < 2) more.append(detail(i));
      });
      row.append(more);
    }
    return row;
  };
  const draw = () => {
    const pages = Math.max(Math.ceil(found.length / PAGE), 1);
    get("items").replaceChildren(...found.slice(page * PAGE, page * PAGE + PAGE).map(drawn));
    get("count").textContent =
      found.length + " of " + set.items.length + " items, page " + (page + 1) + " of " + pages +
      (set.note ? ". " + set.note : "");
    get("before").disabled = page === 0;
    get("after").disabled = page >= pages - 1;
  };
  box.data.addEventListener("change", () => {
    set = sets[box.data.value];
    view = set.views[0];
    fill();
    choose();
  });
  box.view.addEventListener("change", () => {
    view = set.views[box.view.value];
    choose();
  });
  for (const name of ["category", "side", "flag", "order"]) box[name].addEventListener("change", choose);
  box.search.addEventListener("input", choose);
  get("before").addEventListener("click", () => { page--; draw(); });
  get("after").addEventListener("click", () => { page++; draw(); });
  // A link to one item shows it alone.
  const single = () => {
    const name = wanted();
    const place = sets.findIndex((s) => s.items.some((item) => named(s, item[0]) === name));
    if (place < 0) return;
    if (set !== sets[place]) {
      set = sets[place];
      view = set.views[0];
      box.data.value = place;
      fill();
    }
    found = set.items.flatMap((item, i) => (named(set, item[0]) === name ? [i] : []));
    page = 0;
    draw();
    reveal();
  };
  addEventListener("hashchange", single);
  options(box.data, sets.map((s, i) => [i, s.data]));
  fill();
  choose();
  single();
})();
