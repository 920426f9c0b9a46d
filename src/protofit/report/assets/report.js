"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const named = (value) => (value === null ? null : data.classes.length ? data.classes[value] : String(value));
  const columns = data.texts;
  const texts = columns.x.map((x, i) => ({
    text: columns.text[i], row: columns.row[i], l: columns.label[i] === null ? columns.predicted[i] : columns.label[i],
    label: named(columns.label[i]), predicted: named(columns.predicted[i]),
  }));
  const dots = texts.map((text, i) => ({ kind: "text", i, on: 1, x: columns.x[i], y: columns.y[i], l: text.l }));
  const diamonds = data.prototypes.map((one) => ({ kind: "prototype", on: 1, row: one.row, name: one.name, room: one.room, x: one.x, y: one.y, l: one.label }));
  const views = new Map();
  const wide = window.matchMedia("(min-width: 700px)");

  // ---- theme: charts are SVG and name the page's own variables, so they follow it, printed too
  const ink = "var(--ink)", soft = "var(--soft)", accent = "var(--accent)", card = "var(--card)";
  const theme = {
    aria: false, background: "transparent", font: "system-ui, sans-serif", padding: 2,
    view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: soft, gridColor: "var(--line)", gridOpacity: 0.7,
      domainColor: "var(--strong-line)", tickColor: "var(--line)",
      titleFontWeight: 400, labelFontSize: 12, titleFontSize: 12, titlePadding: 8,
    },
    range: { category: Array.from({ length: 10 }, (_, i) => `var(--c${i})`) },
    style: {
      accent: { color: accent }, hue: { color: "var(--hue)" }, square: { color: accent },
      born: { color: accent }, died: { color: "var(--warn)" }, quiet: { color: "var(--strong-line)" },
      proto: { stroke: ink, strokeWidth: 1.6 },
      name: { color: ink, fontSize: 12, fontWeight: 600 },
      halo: { color: card, stroke: card, strokeWidth: 4, fontSize: 12, fontWeight: 600 },
      low: { color: ink, fontSize: 12 }, high: { color: "var(--on-accent)", fontSize: 12 },
    },
  };

  // ---- hover: text is set as text, never as markup
  const tip = by("tip");
  function hover(_, event, item, value) {
    const datum = item && item.datum;
    if (value === undefined || value === null || !datum) { tip.hidden = true; return; }
    const lines = describe(datum, value);
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = lines[0];
    tip.append(head);
    for (const line of lines.slice(1)) {
      const row = document.createElement("div");
      row.textContent = line;
      tip.append(row);
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + box.height > innerHeight ? Math.max(8, event.clientY - box.height - 12) : below}px`;
  }
  function describe(datum, value) {
    if (datum.kind === "text") {
      const text = texts[datum.i];
      return [says(text), shown(text)];
    }
    if (datum.kind === "prototype") {
      const proto = data.prototypes.find((one) => one.row === datum.row);
      return [proto.name, `Prototype no. ${proto.row}: ${proto.says}`, "Click to see its neighbourhood"];
    }
    return typeof value === "object" ? Object.entries(value).map(([k, v]) => `${k}: ${v}`) : [String(value)];
  }
  const shown = (text) => text.text ?? (text.row < 0 ? "Added by an edit" : `Row ${text.row} of the data`);
  function says(text) {
    if (text.predicted === null || text.predicted === text.label) return String(text.label);
    return text.label === null ? `predicted ${text.predicted}` : `${text.label}, predicted ${text.predicted}`;
  }

  // ---- charts
  const copies = (rows) => rows.map((row) => ({ ...row }));  // Vega marks the rows it is given
  async function draw(place) {
    const name = place.dataset.chart, key = name + (place.dataset.row || "");
    const spec = structuredClone(data.charts[name]);
    const narrow = !wide.matches && spec.usermeta && spec.usermeta.narrow;
    if (narrow) {
      spec.height = narrow.height;
      spec.params.find((each) => each.name === "names").value = narrow.names;
    }
    if (name === "map") spec.datasets = { texts: copies(dots), prototypes: copies(diamonds) };
    if (name === "spark") spec.datasets.spark = copies(data.sparks[place.dataset.row]);
    const label = place.getAttribute("aria-label");
    const result = await vegaEmbed(place, spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", config: theme, tooltip: hover,
    });
    for (const [attribute, value] of [["role", "img"], ["aria-label", label]]) place.setAttribute(attribute, value);
    place.removeAttribute("aria-roledescription");  // the library says "Vega visualization" of all
    place.querySelector("svg").setAttribute("aria-hidden", "true");
    if (views.has(key)) views.get(key).finalize();
    views.set(key, result.view);
    if (name === "map") wireMap(result.view);
  }
  async function drawAll() {
    for (const place of document.querySelectorAll("[data-chart]")) await draw(place);
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
  }

  // ---- map: one state, one function that shows it
  const state = { proto: null, klass: null, words: "", zoom: false };
  const inputs = { proto: by("f-proto"), klass: by("f-class"), words: by("f-words"), zoom: by("f-zoom"), clear: by("f-clear") };
  const memberships = new Map(data.prototypes.map((one) => [one.row, new Set(one.members)]));

  function matches(text, index) {
    if (state.proto !== null && !memberships.get(state.proto).has(index)) return false;
    if (state.klass !== null && text.l !== state.klass) return false;
    return !state.words || (text.text || "").toLowerCase().includes(state.words);
  }
  const filtered = () => state.proto !== null || state.klass !== null || state.words !== "";

  function show() {
    const kept = [];
    texts.forEach((text, i) => { if (matches(text, i)) kept.push(i); });
    const on = new Set(kept);
    const view = views.get("map");
    if (view) {
      view.data("texts", dots.map((point) => ({ ...point, on: on.has(point.i) ? 1 : 0 })));
      view.data("prototypes", diamonds.map((point) => ({
        ...point,
        on: state.proto === null ? (state.klass === null || point.l === state.klass ? 1 : 0) : point.row === state.proto ? 2 : 0,
      })));
      const [x0, x1, y0, y1] = frame(on);
      view.signal("x0", x0).signal("x1", x1).signal("y0", y0).signal("y1", y1).runAsync();
    }
    inputs.clear.disabled = !filtered() && !state.zoom;
    tell(kept);
  }
  function frame(on) {
    if (!state.zoom || !filtered()) return data.frame;
    const points = dots.filter((point) => on.has(point.i));
    const centre = diamonds.find((point) => point.row === state.proto);
    if (centre) points.push(centre);
    if (!points.length) return data.frame;
    const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
    const spread = (low, high) => {
      const pad = Math.max((high - low) * 0.12, (data.frame[1] - data.frame[0]) * 0.02);
      return [low - pad, high + pad];
    };
    return [...spread(Math.min(...xs), Math.max(...xs)), ...spread(Math.min(...ys), Math.max(...ys))];
  }
  function tell(kept) {
    const detail = by("detail");
    const proto = data.prototypes.find((one) => one.row === state.proto);
    const title = document.createElement("h3");
    const note = document.createElement("p");
    note.className = "note";
    if (!filtered()) {
      title.textContent = "Nothing selected";
      note.textContent = "Choose a prototype here, above, or on the map: its texts are then listed here.";
      detail.replaceChildren(title, note, shortcuts());
      return;
    }
    title.textContent = proto ? proto.name : state.klass !== null ? data.classes[state.klass] : `“${state.words}”`;
    const count = `${kept.length} of ${texts.length} texts`;
    note.textContent = proto ? `${count} in its neighbourhood. ` : `${count}.`;
    if (proto) {
      const link = document.createElement("a");
      link.href = `#p${proto.row}`;
      link.textContent = "Open its card";
      note.append(link);
    }
    const list = document.createElement("ol");
    const order = proto ? proto.members.filter((index) => kept.includes(index)) : kept;
    for (const index of order.slice(0, 40)) {
      const item = document.createElement("li");
      item.textContent = shown(texts[index]);
      const small = document.createElement("small");
      small.textContent = says(texts[index]);
      item.append(small);
      list.append(item);
    }
    list.tabIndex = 0;
    list.setAttribute("aria-label", "Texts shown");
    detail.replaceChildren(title, note, list);
    if (order.length > 40) {
      const more = document.createElement("p");
      more.className = "note";
      more.textContent = `and ${order.length - 40} more on the map`;
      detail.append(more);
    }
  }
  function shortcuts() {  // the map is a picture: this list is its way for the keyboard
    const list = document.createElement("ul");
    list.className = "shortcuts";
    for (const one of data.prototypes.slice(0, 60)) {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = one.name;
      button.addEventListener("click", () => { select(one.row); inputs.proto.focus({ preventScroll: true }); });
      item.append(button);
      list.append(item);
    }
    return list;
  }
  function select(row) {
    state.proto = row;
    inputs.proto.value = row === null ? "" : String(row);
    show();
  }
  function wireMap(view) {
    view.addEventListener("click", (_, item) => {
      const datum = item && item.datum;
      if (datum && datum.kind === "prototype") select(datum.row === state.proto ? null : datum.row);
      else if (!datum || datum.kind !== "text") select(null);
    });
    show();
  }
  if (inputs.proto) {
    by("filters").addEventListener("submit", (event) => event.preventDefault());
    const number = (value) => (value === "" ? null : Number(value));
    inputs.proto.addEventListener("change", () => { state.proto = number(inputs.proto.value); show(); });
    if (inputs.klass) inputs.klass.addEventListener("change", () => { state.klass = number(inputs.klass.value); show(); });
    inputs.words.addEventListener("input", () => { state.words = inputs.words.value.trim().toLowerCase(); show(); });
    inputs.zoom.addEventListener("change", () => { state.zoom = inputs.zoom.checked; show(); });
    inputs.clear.addEventListener("click", () => {
      by("filters").reset();
      Object.assign(state, { proto: null, klass: null, words: "", zoom: false });
      show();
      inputs.proto.focus();
    });
    for (const button of document.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => {
        select(Number(button.dataset.show));
        by("map").scrollIntoView();
        inputs.proto.focus({ preventScroll: true });
      });
    }
  }

  // ---- cards: order and filter
  const deck = by("cards");
  if (deck) {
    const cards = [...deck.children];
    const order = by("s-order"), klass = by("s-class"), words = by("s-words");
    const given = new Map(cards.map((card, i) => [card, i]));  // by class, or by value
    const sorters = {
      label: (a, b) => given.get(a) - given.get(b),
      name: (a, b) => a.dataset.name.localeCompare(b.dataset.name),
    };
    const arrange = () => {
      const key = order.value;
      cards.sort(sorters[key] || ((a, b) => b.dataset[key] - a.dataset[key]));
      const wanted = words.value.trim().toLowerCase();
      let visible = 0;
      for (const card of cards) {
        card.hidden = (klass && klass.value && card.dataset.label !== klass.value)
          || (wanted !== "" && !card.textContent.toLowerCase().includes(wanted));
        if (!card.hidden) visible += 1;
        deck.append(card);
      }
      by("s-count").textContent = visible === cards.length
        ? `${cards.length} prototypes` : `${visible} of ${cards.length} prototypes`;
    };
    by("sorting").addEventListener("submit", (event) => event.preventDefault());
    for (const control of [order, klass]) if (control) control.addEventListener("change", arrange);
    words.addEventListener("input", arrange);
    const reveal = () => {  // a link to a card that the filter hides shows it
      const card = location.hash.startsWith("#p") && by(location.hash.slice(1));
      if (!card || !card.hidden) return;
      by("sorting").reset();
      arrange();
      card.scrollIntoView();
    };
    window.addEventListener("hashchange", reveal);
  }

  // ---- where the reader is
  const links = new Map([...document.querySelectorAll("nav.toc a")].map((a) => [a.hash.slice(1), a]));
  const inSight = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) inSight[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    const here = [...links.keys()].find((id) => inSight.has(id));
    for (const [id, link] of links) {
      if (id === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-20% 0px -60% 0px" });
  for (const id of links.keys()) watcher.observe(by(id));

  // ---- paper is narrower than the window: labels keep their size
  const PAPER = 640;
  window.addEventListener("beforeprint", () => {
    for (const view of views.values()) if (view.width() > PAPER) view.width(PAPER).run();
  });
  window.addEventListener("afterprint", () => window.dispatchEvent(new Event("resize")));

  wide.addEventListener("change", drawAll);
  drawAll();
})();
