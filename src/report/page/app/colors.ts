/** One colour a role, on dark and light alike; and more where a chart has lines that are no roles'. */
import type { Role } from '../../api/run.js'

const byPart = {
  light: { author: '#b45309', answerer: '#1d6fb8', judge: '#7a4fc2' },
  dark: { author: '#e8a04c', answerer: '#5fabf0', judge: '#b08df5' },
}
const others = {
  light: ['#1d6fb8', '#b45309', '#7a4fc2', '#2b8a57', '#c2416b', '#64748b', '#a17a12', '#0e8a94'],
  dark: ['#5fabf0', '#e8a04c', '#b08df5', '#5fc48d', '#ef7fa2', '#9aa8bd', '#d6b548', '#4fc3cf'],
}

export function roleColor(role: string, parts: readonly Role[], dark: boolean): string {
  const part = parts.find(({ name }) => name === role)?.part
  const shade = dark ? 'dark' : 'light'
  if (part) return byPart[shade][part]
  const place = parts.findIndex(({ name }) => name === role)
  return place < 0 ? (dark ? '#98a2ae' : '#5c6773') : lineColor(place + 3, dark)
}

export function lineColor(i: number, dark: boolean): string {
  const colors = others[dark ? 'dark' : 'light']
  return colors[((i % colors.length) + colors.length) % colors.length]!
}
