import type { Language } from './task.js'

const labels: Record<Language, RegExp> = {
  python: /^(?:python|python3|py|py3)$/i,
  javascript: /^(?:javascript|js|node|nodejs|mjs|cjs)$/i,
}

/**
 * The code of a response, after its think part: the last fenced block labelled with the language, else the last
 * without a label, else, where there are no fences at all, the whole text. A block that the end of the text cuts off
 * counts. Leading blanks of lines are kept: a block may be the body of a function. Null where there is no code, or
 * where the thinking was not finished.
 */
export function extractCode(response: string, language: Language): string | null {
  const text = afterThinking(response)
  const blocks = fencedBlocks(text)
  const labelled = blocks.filter(({ label }) => labels[language].test(label))
  const plain = blocks.filter(({ label }) => label === '')
  const code = blocks.length === 0 ? text : (labelled.at(-1) ?? plain.at(-1))?.code
  return code === undefined || code.trim() === '' ? null : code.replace(/^(?:[^\S\n]*\n)+/, '')
}

function afterThinking(response: string): string {
  const end = response.lastIndexOf('</think>')
  if (end >= 0) return response.slice(end + '</think>'.length)
  return response.includes('<think>') ? '' : response
}

function fencedBlocks(text: string): { label: string; code: string }[] {
  const blocks: { label: string; code: string }[] = []
  let open: { label: string; indent: string; fence: string; lines: string[] } | undefined
  const close = () => {
    if (open) blocks.push({ label: open.label, code: open.lines.join('\n') })
    open = undefined
  }
  for (const line of text.split(/\r?\n/)) {
    const [, indent = '', fence, label = ''] = /^([ \t]*)(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/.exec(line) ?? []
    const closes = fence !== undefined && label === '' && open && fence.startsWith(open.fence)
    if (closes) close()
    else if (open) open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
    else if (fence !== undefined) open = { label, indent, fence, lines: [] }
  }
  close()
  return blocks
}
