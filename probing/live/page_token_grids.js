// Grids of the best words by layer, next to each other. "Play" reads them from the lowest layer upwards; arrow keys go layer by layer,
// space plays and pauses. A word under the mouse is marked wherever a layer gives it; a click draws its curve.
const PAUSE = 700

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".grids-of-words")
  const text = JSON.stringify(data)
  if (root.shown === text) return
  clearInterval(root.timer)
  root.timer = null
  root.shown = text
  build(root, data)
}

function build(root, data) {
  root.replaceChildren()
  const layers = [...new Set(data.grids.flatMap((grid) => grid.layers.map((one) => one.layer)))].sort((a, b) => a - b)
  const last = layers[layers.length - 1]
  const state = { upTo: last, pinned: "" }
  const grids = add(root, "div", "grids")
  grids.tabIndex = 0
  grids.setAttribute("role", "group")
  grids.setAttribute("aria-label", "Best words by layer. Keys: up and down arrow go layer by layer, space plays and pauses.")
  data.grids.forEach((grid) => table(grids, grid, data.answer, data.steps))
  const bar = add(root, "div", "bar")
  const play = button(bar, "", "play", () => (root.timer ? stop() : start()))
  const down = button(bar, "▼", "down", () => go(state.upTo - 1))
  const up = button(bar, "▲", "up", () => go(state.upTo + 1))
  down.setAttribute("aria-label", "One layer down")
  up.setAttribute("aria-label", "One layer up")
  const says = add(bar, "span", "says")
  says.setAttribute("role", "status")
  const curve = add(root, "div", "curve")

  function start() {
    if (state.upTo === last) go(layers[0])
    root.timer = setInterval(() => (state.upTo >= last || !root.isConnected ? stop() : go(state.upTo + 1, true)), PAUSE)
    show()
  }

  function stop() {
    clearInterval(root.timer)
    root.timer = null
    show()
  }

  function go(layer, playing = false) {
    if (!playing && root.timer) stop()
    state.upTo = Math.max(layers[0], Math.min(last, layer))
    if (playing && state.upTo === last) stop()
    show()
  }

  function mark(word) {
    const wanted = word || state.pinned
    for (const cell of grids.querySelectorAll("td.word")) cell.classList.toggle("followed", wanted !== "" && cell.dataset.word === wanted)
    says.textContent = wanted ? where(data, wanted) : state.upTo === last ? "Click a word for its curve." : read(data, state.upTo)
  }

  function show() {
    play.textContent = root.timer ? "❚❚ Pause" : "▶ Play"
    for (const row of grids.querySelectorAll("tbody tr")) {
      const layer = Number(row.dataset.layer)
      row.classList.toggle("unread", layer > state.upTo)
      row.classList.toggle("now", layer === state.upTo && state.upTo < last)
    }
    down.disabled = state.upTo === layers[0]
    up.disabled = state.upTo === last
    mark("")
  }

  grids.onkeydown = (event) => {
    const keys = { ArrowUp: () => go(state.upTo + 1), ArrowDown: () => go(state.upTo - 1), Home: () => go(layers[0]), End: () => go(last) }
    const act = event.key === " " ? play.onclick : keys[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }
  grids.onmouseover = (event) => mark(event.target.closest?.("td.word")?.dataset.word ?? "")
  grids.onmouseleave = () => mark("")
  grids.onclick = (event) => {
    const word = event.target.closest?.("td.word")?.dataset.word ?? ""
    state.pinned = word === state.pinned ? "" : word
    draw(curve, data, state.pinned, layers)
    mark("")
  }
  show()
}

function table(parent, grid, answer, steps) {
  const made = add(parent, "table", "grid")
  const caption = add(made, "caption", "")
  const name = add(caption, "b", "")
  name.textContent = grid.model
  name.title = grid.hint
  name.style.setProperty("--model", grid.colour)
  if (grid.note) add(caption, "span", "note").textContent = grid.note
  const places = Math.max(...grid.layers.map((one) => one.tokens.length))
  // Cells of both grids are equally wide: what the layer and the rank leave is divided by the number of words.
  made.style.flex = `${places} 1 ${44 + (answer ? 68 : 0) + 3 * places}px`
  made.classList.toggle("many", places > 3)
  made.classList.toggle("phrases", grid.layers.some((one) => one.tokens.some((token) => token.word.includes(" "))))
  const head = add(add(made, "thead", ""), "tr", "")
  cell(head, "th", "layer", steps)
  for (let place = 1; place <= places; place++) cell(head, "th", `place${place}`, ["first", "second", "third"][place - 1] ?? `${place}th`)
  if (answer) cell(head, "th", "rank", "rank").title = `rank of ${answer}`
  const body = add(made, "tbody", "")
  for (const one of grid.layers) {
    const row = add(body, "tr", "")
    row.dataset.layer = one.layer
    cell(row, "th", "layer", String(one.layer)).scope = "row"
    for (let place = 1; place <= places; place++) {
      const token = one.tokens[place - 1]
      const made = cell(row, "td", `word place${place}`, "")
      if (!token) continue
      const share = token.probability
      made.dataset.word = token.word.toLowerCase()
      made.title = `${token.word} ${token.percent}`
      // White below 5 %, then one linear ramp; on strong cells words are black or white, whichever has a contrast of 4.5.
      if (token.right) made.classList.add("right")
      else if (share >= 0.05) made.style.setProperty("--share", `${100 * share}%`)
      made.classList.toggle("said", token.said)
      const inks = [share > 0.89 ? "#ffffff" : "#000000", share > 0.72 ? "#000000" : "#ffffff"]
      if (!token.right && share > 0.6) made.style.color = `light-dark(${inks})`
      add(made, "span", "token").textContent = token.word
      add(made, "small", "").textContent = token.percent
    }
    if (answer) cell(row, "td", `rank${one.rank === 1 ? " first" : ""}`, one.rank === null ? "–" : one.rank.toLocaleString("en-GB"))
  }
}

// The probability of a word over the layers, one line per model; where it is not among the stored words, its line stands at 0.
function draw(place, data, word, layers) {
  place.replaceChildren()
  if (!word) return
  const wide = Math.min(place.clientWidth || 620, 620), high = 120, left = 44, bottom = 20, top = 10
  const x = (at) => left + ((wide - left - 90) * at) / Math.max(layers.length - 1, 1)
  const y = (share) => top + (high - top - bottom) * (1 - share)
  const drawing = shape(place, "svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Probability of ${word} by layer` })
  for (const share of [0, 0.5, 1]) {
    shape(drawing, "line", { x1: left, x2: x(layers.length - 1), y1: y(share), y2: y(share), class: "rule" })
    shape(drawing, "text", { x: left - 6, y: y(share) + 4, class: "tick end" }).textContent = `${100 * share} %`
  }
  layers.forEach((layer, at) => (shape(drawing, "text", { x: x(at), y: high - 4, class: "tick middle" }).textContent = layer))
  data.grids.forEach((grid, number) => {
    const values = grid.curves[word] ?? layers.map(() => null)
    const points = values.map((value, at) => `${x(at)},${y(value ?? 0)}`).join(" ")
    shape(drawing, "polyline", { points, fill: "none", stroke: grid.colour, "stroke-width": 2.5 })
    const end = values[values.length - 1] ?? 0
    const other = data.grids.length > 1 ? (data.grids[1 - number].curves[word] ?? []).at(-1) ?? 0 : 2
    const apart = Math.abs(end - other) < 0.16 ? (number ? 7 : -7) : 0
    shape(drawing, "text", { x: x(layers.length - 1) + 6, y: y(end) + 4 + apart, fill: grid.colour, class: "name" }).textContent = grid.model
  })
  add(place, "div", "").textContent = `Probability of “${word}” by layer`
  place.prepend(place.lastChild)
}

// The name of a model in a sentence, without the mark of whether it learned its task.
function unmarked(grid) {
  return grid.model.replace(/ [✓◐✗?]$/, "")
}

// "“rome”: nesia-mini at layers 3, 4; nowhere in nesia-mini-cola."
function where(data, word) {
  const of = (grid) => grid.layers.filter((one) => one.tokens.some((token) => token.word.toLowerCase() === word)).map((one) => one.layer).reverse()
  const parts = data.grids.map((grid) => {
    const layers = of(grid)
    return layers.length ? `${unmarked(grid)} at ${layers.length > 1 ? "layers" : "layer"} ${layers.join(", ")}` : `nowhere in ${unmarked(grid)}`
  })
  return `“${word}”: ${parts.join("; ")}.`
}

function read(data, layer) {
  const parts = data.grids.map((grid) => {
    const one = grid.layers.find((found) => found.layer === layer)
    if (!one) return ""
    const rank = data.answer && one.rank !== null ? `, ${data.answer} has rank ${one.rank.toLocaleString("en-GB")}` : ""
    return `${unmarked(grid)} says “${one.tokens[0]?.word ?? "–"}”${rank}`
  })
  return `${data.steps === "layer" ? "Layer" : data.steps} ${layer}: ${parts.filter(Boolean).join("; ")}.`
}

function cell(row, kind, name, text) {
  const made = add(row, kind, name)
  made.textContent = text
  if (kind === "th") made.scope = "col"
  return made
}

function add(parent, kind, name) {
  const made = document.createElement(kind)
  if (name) made.className = name
  parent.append(made)
  return made
}

function shape(parent, kind, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  parent.append(made)
  return made
}

function button(parent, words, name, onclick) {
  const made = add(parent, "button", name)
  made.type = "button"
  made.textContent = words
  made.onclick = onclick
  return made
}
