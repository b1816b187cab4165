// Grids of the best words by layer, next to each other. "Play" reads them from the lowest layer upwards; arrow keys go layer by layer,
// space plays and pauses. A word under the mouse, or one that was clicked, is marked wherever a layer gives it.
const PAUSE = 900

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".story")
  const text = JSON.stringify(data)
  if (root.shown === text) return
  clearInterval(root.timer)
  root.shown = text
  build(root, data)
  return () => clearInterval(root.timer)
}

function build(root, data) {
  root.replaceChildren()
  const layers = [...new Set(data.grids.flatMap((grid) => grid.layers.map((one) => one.layer)))].sort((a, b) => a - b)
  const last = layers[layers.length - 1]
  const state = { upTo: last, pinned: "" }
  const bar = add(root, "div", "bar")
  const play = button(bar, "", "play", () => (root.timer ? stop() : start()))
  const down = button(bar, "▼", "down", () => go(state.upTo - 1))
  const up = button(bar, "▲", "up", () => go(state.upTo + 1))
  down.setAttribute("aria-label", "One layer down")
  up.setAttribute("aria-label", "One layer up")
  const at = add(bar, "span", "at")
  const grids = add(root, "div", "grids")
  grids.tabIndex = 0
  grids.setAttribute("role", "group")
  grids.setAttribute("aria-label", "Best words by layer. Keys: up and down arrow go layer by layer, space plays and pauses.")
  data.grids.forEach((grid) => table(grids, grid, data.answer))
  const says = add(root, "div", "says")
  says.setAttribute("role", "status")

  function start() {
    if (state.upTo === last) go(layers[0])
    root.timer = setInterval(() => (state.upTo >= last ? stop() : go(state.upTo + 1, true)), PAUSE)
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
    says.textContent = wanted ? where(data, wanted) : state.upTo === last ? "" : read(data, state.upTo)
  }

  function show() {
    play.textContent = root.timer ? "❚❚ Pause" : "▶ Play"
    at.textContent = state.upTo === last && !root.timer ? "layer by layer" : `layer ${state.upTo} of ${last}`
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
    mark("")
  }
  show()
}

function table(parent, grid, answer) {
  const made = add(parent, "table", "grid")
  const caption = add(made, "caption", "")
  add(caption, "b", "").textContent = grid.model
  if (grid.note) add(caption, "span", "note").textContent = grid.note
  const places = Math.max(...grid.layers.map((one) => one.tokens.length))
  const head = add(add(made, "thead", ""), "tr", "")
  cell(head, "th", "layer", "layer")
  for (let place = 1; place <= places; place++) cell(head, "th", `place${place}`, place === 1 ? "best word" : String(place))
  if (answer) cell(head, "th", "rank", `rank of ${answer}`)
  const body = add(made, "tbody", "")
  for (const one of grid.layers) {
    const row = add(body, "tr", "")
    row.dataset.layer = one.layer
    cell(row, "th", "layer", String(one.layer)).scope = "row"
    for (let place = 1; place <= places; place++) {
      const token = one.tokens[place - 1]
      const made = cell(row, "td", `word place${place}${token?.right ? " right" : ""}`, "")
      if (!token) continue
      made.dataset.word = token.word.toLowerCase()
      made.style.setProperty("--light", token.light[0])
      made.style.setProperty("--on-light", token.light[1])
      made.style.setProperty("--dark", token.dark[0])
      made.style.setProperty("--on-dark", token.dark[1])
      add(made, "span", "token").textContent = token.word
      add(made, "small", "").textContent = token.percent
    }
    if (answer) cell(row, "td", `rank${one.rank === 1 ? " first" : ""}`, one.rank === null ? "–" : one.rank.toLocaleString("en-GB"))
  }
}

// "“rome”: nesia-mini at layers 3, 4; nowhere in nesia-mini-cola."
function where(data, word) {
  const of = (grid) => grid.layers.filter((one) => one.tokens.some((token) => token.word.toLowerCase() === word)).map((one) => one.layer).reverse()
  const parts = data.grids.map((grid) => {
    const layers = of(grid)
    return layers.length ? `${grid.model} at ${layers.length > 1 ? "layers" : "layer"} ${layers.join(", ")}` : `nowhere in ${grid.model}`
  })
  return `“${word}”: ${parts.join("; ")}.`
}

function read(data, layer) {
  const parts = data.grids.map((grid) => {
    const one = grid.layers.find((found) => found.layer === layer)
    if (!one) return ""
    const rank = data.answer && one.rank !== null ? `, ${data.answer} has rank ${one.rank.toLocaleString("en-GB")}` : ""
    return `${grid.model} says “${one.tokens[0]?.word ?? "–"}”${rank}`
  })
  return `Layer ${layer}: ${parts.filter(Boolean).join("; ")}.`
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

function button(parent, words, name, onclick) {
  const made = add(parent, "button", name)
  made.type = "button"
  made.textContent = words
  made.onclick = onclick
  return made
}
