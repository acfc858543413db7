import { describe, expect, it } from 'vitest'
import { boxChart, lineChart } from './chart.js'

/** Values of an attribute of every element of a name, in order. */
function attribute(svg: string, element: string, name: string): number[] {
  return [...svg.matchAll(new RegExp(`<${element} [^>]*\\b${name}="([^"]*)"`, 'g'))].map((match) =>
    Number(match[1]),
  )
}

const texts = (svg: string) => [...svg.matchAll(/>([^<\n]*)<\/text>/g)].map((match) => match[1])

describe('lineChart', () => {
  const series = [
    {
      name: 'a & <b>',
      color: '#123456',
      points: [0, 10].map((x) => ({ x, low: 0, mean: x / 20, high: 1 })),
    },
  ]

  it('draws the mean as a line within its band', () => {
    const svg = lineChart('title', 'rounds', series)
    const points = /<polyline points="([^"]*)"/
      .exec(svg)![1]!
      .split(' ')
      .map((point) => point.split(',').map(Number))
    const [bottom, top] = [Math.max, Math.min].map((pick) => pick(...attribute(svg, 'line', 'y1')))
    expect(points[0]![1]).toBe(bottom)
    expect(points[1]![1]).toBeCloseTo((bottom! + top!) / 2, 1)
    const band = /<polygon points="([^"]*)"/.exec(svg)![1]!.split(' ')
    expect(band.map((point) => Number(point.split(',')[1]))).toEqual([top, top, bottom, bottom])
  })

  it('keeps names apart, and within the picture', () => {
    const low = { ...series[0]!, points: [0, 10].map((x) => ({ x, low: 0, mean: x / 1e4, high: 0.1 })) }
    const svg = lineChart('title', 'rounds', [low, { ...low, name: 'b' }, { ...low, name: 'c' }])
    const ys = [...svg.matchAll(/y="([\d.]+)" fill="#123456"/g)].map((match) => Number(match[1]))
    expect(ys).toHaveLength(3)
    for (const [i, y] of ys.sort((a, b) => a - b).entries()) {
      if (i > 0) expect(y - ys[i - 1]!).toBeGreaterThanOrEqual(13.9)
      expect(y).toBeLessThanOrEqual(320)
    }
  })

  it('writes names as text, whatever signs they hold', () => {
    const svg = lineChart('title', 'rounds', series)
    expect(svg).not.toContain('<b>')
    expect(texts(svg)).toEqual(
      expect.arrayContaining(['title', 'rounds', 'a &#38; &#60;b&#62;', '100', '10']),
    )
  })
})

describe('boxChart', () => {
  const spread = {
    name: 'right\nbefore',
    color: '#123456',
    p5: 0,
    q1: 1,
    median: 2,
    q3: 3,
    p95: 8,
    mean: 2.5,
  }

  it('draws quartiles, median, mean and the range between percentiles to scale', () => {
    const svg = boxChart('title', [{ title: 'nats', boxes: [spread] }])
    const [zero] = attribute(svg, 'line', 'y1')
    const ten = Math.min(...attribute(svg, 'line', 'y1').slice(0, 6))
    const y = (value: number) => zero! + (value / 10) * (ten - zero!)
    expect(texts(svg)).toEqual(expect.arrayContaining(['0', '10', 'nats', 'right', 'before']))
    expect(attribute(svg, 'rect', 'y')[0]).toBeCloseTo(y(3), 0)
    expect(attribute(svg, 'rect', 'height')[0]).toBeCloseTo(y(1) - y(3), 0)
    expect(attribute(svg, 'circle', 'cy')[0]).toBeCloseTo(y(2.5), 0)
    const [from, to] = [attribute(svg, 'line', 'y1')[6], attribute(svg, 'line', 'y2')[6]]
    expect([from, to]).toEqual([expect.closeTo(y(0), 0), expect.closeTo(y(8), 0)])
  })

  it('gives every panel a scale of its own, and boxes of zeros one as well', () => {
    const flat = { ...spread, p5: 0, q1: 0, median: 0, q3: 0, p95: 0, mean: 0 }
    const small = { ...spread, p95: 0.04, q3: 0.03, mean: 0.02, median: 0.02, q1: 0.01 }
    const svg = boxChart('title', [
      { title: 'a', boxes: [spread] },
      { title: 'b', boxes: [small] },
      { title: 'c', boxes: [flat] },
    ])
    expect(texts(svg)).toEqual(expect.arrayContaining(['10', '0.05']))
    expect(svg).not.toMatch(/NaN|Infinity/)
  })
})
