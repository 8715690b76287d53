import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { projectFolder } from '../support/folder.ts'

type Colour = readonly [red: number, green: number, blue: number]

const tokens = readFileSync(join(projectFolder, 'dashboard/src/style/tokens.css'), 'utf8')
/** Simulated vision (Machado and others 2009, severity 1, on linear RGB). */
const visions: Readonly<Record<string, readonly number[]>> = {
  full: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
  deuteranopia: [0.367, 0.861, -0.228, 0.28, 0.673, 0.047, -0.012, 0.043, 0.969],
}
/** Smallest distance of two colours in OKLab, of which about 0.02 is visible side by side. */
const distanceMin = 0.06

describe('the colours of series', () => {
  for (const theme of ['light', 'dark'] as const) {
    const colourOf = (name: string): Colour => {
      const [, light = '', dark = ''] =
        new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(tokens) ?? []
      return linear(theme === 'light' ? light : dark)
    }
    const series = Array.from({ length: 8 }, (_, index) => colourOf(`series-${index}`))

    it(`have a contrast of at least 3 to the grounds in the ${theme} theme`, () => {
      for (const ground of ['card', 'ground', 'hover'].map(colourOf)) {
        for (const one of series) expect(contrast(one, ground)).to.be.at.least(3)
      }
    })

    it(`differ for readers with and without colour blindness in the ${theme} theme`, () => {
      for (const [vision, matrix] of Object.entries(visions)) {
        const seen = series.map((one) => oklab(simulated(one, matrix)))
        const close = seen.flatMap((one, index) =>
          seen
            .slice(0, index)
            .flatMap((other, before) =>
              Math.hypot(...one.map((value, at) => value - other[at]!)) < distanceMin
                ? [`${before} and ${index}`]
                : [],
            ),
        )
        expect(close, vision).to.deep.equal([])
      }
    })
  }
})

function linear(hex: string): Colour {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return [red!, green!, blue!]
}

function contrast(one: Colour, other: Colour): number {
  const [less = 0, more = 0] = [one, other]
    .map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .toSorted((a, b) => a - b)
  return (more + 0.05) / (less + 0.05)
}

function simulated(colour: Colour, matrix: readonly number[]): Colour {
  const [red, green, blue] = [0, 3, 6].map((row) => {
    const value = colour.reduce((sum, one, at) => sum + one * matrix[row + at]!, 0)
    return Math.min(1, Math.max(0, value))
  })
  return [red!, green!, blue!]
}

/** OKLab (Ottosson 2020), in which distances are about as large as they look. */
function oklab([red, green, blue]: Colour): Colour {
  const l = Math.cbrt(0.4122 * red + 0.5363 * green + 0.0514 * blue)
  const m = Math.cbrt(0.2119 * red + 0.6807 * green + 0.1074 * blue)
  const s = Math.cbrt(0.0883 * red + 0.2817 * green + 0.63 * blue)
  return [
    0.2105 * l + 0.7936 * m - 0.0041 * s,
    1.978 * l - 2.4286 * m + 0.4506 * s,
    0.0259 * l + 0.7828 * m - 0.8087 * s,
  ]
}
