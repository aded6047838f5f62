// Search in a site that is opened from a file: browsers start no Worker there, so a hidden frame executes the worker's script.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.loaded = new Promise(resolve => { this.resolve = resolve })
      const attach = () => {
        document.body.appendChild(this.frame)
        const { contentWindow } = this.frame
        contentWindow.owner = this
        contentWindow.document.open()
        contentWindow.document.write(`
          <script>
            window.postMessage = data => owner.dispatchEvent(new MessageEvent("message", { data }))
            window.importScripts = async (...urls) => {
              for (const src of urls)
                await new Promise((onload, onerror) =>
                  document.head.appendChild(Object.assign(document.createElement("script"), { src, onload, onerror })))
            }
          <\/script>
          <script src="${script}" onload="owner.resolve()"><\/script>`)
        contentWindow.document.close()
      }
      if (document.body) attach()
      else document.addEventListener("DOMContentLoaded", attach)
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
