// A button that saves the figure of a container as an image. Plotly draws the image in the browser, so the server needs none: the
// button presses the camera of that figure, whose format and size the page has set. Plotly's PNG does not say how large it is in print; a
// chunk after its head (8 bytes of signature and 25 of IHDR) does.
export default function (component) {
  const { data, parentElement } = component
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("[role=status]")
  button.textContent = data.label
  button.onclick = () => {
    const camera = document.querySelector(`.st-key-${CSS.escape(data.within)} .modebar-btn`)
    said.textContent = camera ? "" : "The figure is not drawn yet. Wait a moment, then press again."
    if (!camera) return
    if (data.chunk) mark(Uint8Array.from(data.chunk))
    keepOpen()
    camera.click()
  }
}

// Plotly saves by a click of its own on a link outside the popover, which would close it and take the figure away while it is drawn.
function keepOpen() {
  const quiet = (event) => {
    if (!event.target.closest?.("a[download]")) return
    window.removeEventListener("click", quiet, true)
    event.stopPropagation()
  }
  window.addEventListener("click", quiet, true)
}

const make = URL.createObjectURL.bind(URL)

// Puts the chunk into the next PNG that the page saves.
function mark(chunk) {
  URL.createObjectURL = (blob) => {
    if (blob.type !== "image/png") return make(blob)
    URL.createObjectURL = make
    return make(new Blob([blob.slice(0, 33), chunk, blob.slice(33)], { type: blob.type }))
  }
}
