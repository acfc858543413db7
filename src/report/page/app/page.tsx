/** Where the page begins: data from the page itself, where it carries some, or from the server it came from. */
import { render } from 'preact'
import { App } from './app.js'
import { inlinedSource } from './inlined-source.js'
import { serverSource } from './server-source.js'

const root = document.getElementById('page')!

inlinedSource().then(
  (inlined) => {
    root.textContent = ''
    render(<App source={inlined ?? serverSource()} />, root)
  },
  (cause) => {
    root.textContent = `The data of this report cannot be read: ${cause}`
  },
)
