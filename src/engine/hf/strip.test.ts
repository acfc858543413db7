import { Template } from '@huggingface/jinja'
import { describe, expect, it } from 'vitest'
import { mendStripCalls, stripFunctions } from './strip.js'

function render(source: string, values: Record<string, unknown> = {}): string {
  const template = new Template(source)
  mendStripCalls(template)
  return template.render({ ...stripFunctions, ...values })
}

describe('strip with an argument', () => {
  it.each([
    ["{{ '\\n a \\n'.strip('\\n') }}", ' a '],
    ["{{ '\\n a \\n'.lstrip('\\n') }}|", ' a \n|'],
    ["{{ '\\n a \\n'.rstrip('\\n') }}|", '\n a |'],
    ["{{ 'xyabyx'.strip('xy') }}", 'ab'],
    ["{{ 'xyyx'.strip('xy') }}|{{ 'xyyx'.rstrip('xy') }}", '|'],
    ["{{ 'ab'.strip('') }}", 'ab'],
    ["{{ ' a '.strip(none) }}|{{ ' a '.lstrip(none) }}|{{ ' a '.rstrip(none) }}|", 'a|a | a|'],
    ["{{ '👩a👩'.strip('👩') }}", 'a'],
    ["{{ '<t>\\n\\nb'.split('<t>')[-1].lstrip('\\n').rstrip('b') }}|", '|'],
    [
      "{% for m in ['-a', '-b'] %}{% if m.lstrip('-') == 'a' %}{{ m['lstrip']() }}{% endif %}{% endfor %}",
      '-a',
    ],
  ])('%s', (source, expected) => {
    expect(render(source)).toBe(expected)
  })

  it('leaves calls without one, and other methods, as they are', () => {
    expect(render("{{ ' a '.strip() }}|{{ ' a '.lstrip() }}|{{ 'a-b'.replace('-', '') }}")).toBe('a|a |ab')
    expect(render('{{ own.strip }}', { own: { strip: 'mine' } })).toBe('mine')
  })
})
