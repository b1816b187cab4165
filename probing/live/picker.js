// Words are buttons: the first and the last word of a span are chosen by click, Enter or space; arrow keys move from word to word,
// with Shift they select. A complete span is sent to Python, which returns the spans to show.
const HELP = "Choose the first word, then the last one (for one word, the same again). Keys: arrows move, Shift+arrows select, Escape cancels."

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".picker")
  const state = (root.state ??= { active: 1, begun: null, from: null, focus: 0, words: null })
  const words = data.words
  const text = JSON.stringify(words)
  state.spans = data.spans.map((span) => [...span])
  state.send = (event) => setTriggerValue("chosen", { words: words.length, ...event })
  if (state.words !== text) {
    Object.assign(state, { words: text, begun: null, from: null, focus: 0 })
    if (state.spans.length === 0) state.active = 1
    build(root, state, words)
  }
  state.active = Math.min(state.active, state.spans.length + 1)
  show(root, state, words)
}

function build(root, state, words) {
  root.replaceChildren()
  const bar = add(root, "div", "bar")
  for (const number of [1, 2]) {
    button(bar, `Span ${number}`, `which${number}`, () => turn(number))
  }
  button(bar, "Swap", "swap", () => state.send({ swap: true }))
  button(bar, "Remove", "clear", () => state.send({ span: state.active }))
  const group = add(root, "div", "words")
  group.setAttribute("role", "group")
  group.setAttribute("aria-label", "Words of the sentence")
  words.forEach((word, at) => button(group, word, "word", () => click(at)))
  const says = add(root, "div", "says")
  says.setAttribute("role", "status")

  function turn(number) {
    if (number > state.spans.length + 1) return
    Object.assign(state, { active: number, begun: null, from: null })
    show(root, state, words)
  }

  function click(at) {
    state.focus = at
    if (state.begun === null) {
      state.begun = at
      show(root, state, words)
    } else {
      choose(state.begun, at)
    }
  }

  function choose(one, other) {
    const [start, end] = [Math.min(one, other), Math.max(one, other) + 1]
    Object.assign(state, { begun: null, from: null })
    state.spans[state.active - 1] = [start, end]
    show(root, state, words)
    state.send({ span: state.active, start, end })
  }

  group.onkeydown = (event) => {
    const at = { ArrowLeft: state.focus - 1, ArrowUp: state.focus - 1, ArrowRight: state.focus + 1, ArrowDown: state.focus + 1,
      Home: 0, End: words.length - 1 }[event.key]
    if (event.key === "Escape") {
      Object.assign(state, { begun: null, from: null })
    } else if (at !== undefined) {
      event.preventDefault()
      if (event.shiftKey && state.from === null) state.from = state.begun ?? state.focus
      if (!event.shiftKey) state.from = null
      state.focus = Math.max(0, Math.min(words.length - 1, at))
      group.children[state.focus].focus()
    } else {
      return
    }
    show(root, state, words)
  }
  // Releasing Shift chooses the words selected with the arrow keys.
  group.onkeyup = (event) => {
    if (event.key === "Shift" && state.from !== null) choose(state.from, state.focus)
  }
  group.addEventListener("focusin", (event) => {
    const at = [...group.children].indexOf(event.target)
    if (at >= 0) state.focus = at
  })
}

function show(root, state, words) {
  const [bar, group, says] = root.children
  const held = state.from === null ? null : [Math.min(state.from, state.focus), Math.max(state.from, state.focus) + 1]
  const spans = [0, 1].map((number) => (held && state.active === number + 1 ? held : state.spans[number]))
  const inside = (span, at) => Boolean(span) && span[0] <= at && at < span[1]
  ;[...group.children].forEach((one, at) => {
    const of = [1, 2].filter((number) => inside(spans[number - 1], at))
    one.className = ["word", ...of.map((number) => `in${number}`), at === state.begun ? "begun" : ""].join(" ").trim()
    one.setAttribute("aria-pressed", String(of.length > 0))
    one.setAttribute("aria-label", [words[at], ...of.map((number) => `span ${number}`)].join(", "))
    one.tabIndex = at === Math.min(state.focus, words.length - 1) ? 0 : -1
  })
  const [first, second, swap, clear] = bar.children
  first.setAttribute("aria-pressed", String(state.active === 1))
  second.setAttribute("aria-pressed", String(state.active === 2))
  second.disabled = state.spans.length < 1
  swap.hidden = state.spans.length < 2
  clear.hidden = !state.spans[state.active - 1]
  says.textContent = state.begun === null ? HELP : `Span ${state.active} begins with “${words[state.begun]}”. Now choose its last word.`
}

function add(parent, kind, name) {
  const made = document.createElement(kind)
  made.className = name
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
