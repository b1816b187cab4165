// A button that saves the figure of a container as an image. Plotly draws the image in the browser, so the server needs none: the
// button presses the camera of that figure, whose format and size the page has set.
export default function (component) {
  const { data, parentElement } = component
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("[role=status]")
  button.textContent = data.label
  button.onclick = () => {
    const camera = document.querySelector(`.st-key-${CSS.escape(data.within)} .modebar-btn`)
    said.textContent = camera ? "" : "The figure is not drawn yet. Wait a moment, then press again."
    if (camera) camera.click()
  }
}
