/** Debian's Chromium, driven against the real server; and what it must never do. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'

const program = '/usr/bin/chromium'
export const hasBrowser = existsSync(program)

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
}

/** A page, and everything that went wrong on it: errors, dialogs, requests to elsewhere. */
export interface Watched {
  page: Page
  faults: string[]
}

export async function openPage(
  browser: Browser,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  page.setDefaultTimeout(20_000)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:)/.test(request.url())) faults.push(request.url())
  })
  return { page, faults }
}

/** Starts `sparring ui` as a user would; its address, and how it is ended. */
export async function serve(folder: string): Promise<{ url: string; close(): Promise<void> }> {
  const script = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
  const child = spawn(process.execPath, [script, 'ui', folder, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) {
    const event = JSON.parse(line)
    if (event.event !== 'listening') continue
    const close = async () => {
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
    }
    return { url: event.url, close }
  }
  throw new Error('The server said nothing.')
}
