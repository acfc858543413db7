import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'

type Style = 'red' | 'yellow' | 'green' | 'dim' | 'bold'

/** Text in a style where the stream is a terminal and colour is not refused (NO_COLOR). */
export function paint(stream: Pick<WriteStream, 'isTTY'>, style: Style, text: string): string {
  return stream.isTTY && !process.env.NO_COLOR ? styleText(style, text, { validateStream: false }) : text
}
