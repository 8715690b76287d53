import { readFileSync } from 'node:fs'
import { darker, lighter } from './svg.ts'

/** The colours of a drawing. */
export type Paint = {
  /** The requested colour, or the thing's own. */
  main: string
  /** The colour of windows, which are lit at night. */
  window: string
  /** A colour in the light of the picture; `distance` is 0 close by and 1 at the horizon. */
  lit(colour: string, distance: number): string
}

const drawings = new Map<string, string>()

/** The content of a file in `art/`, around the origin: a thing stands at y 0 and is at most 100 high and wide. */
function drawingOf(name: string): string {
  const known = drawings.get(name)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`./art/${name}.svg`, import.meta.url), 'utf8')
  const content = text.replaceAll(/<\/?svg[^>]*>\s*/g, '')
  drawings.set(name, content)
  return content
}

/**
 * A drawing of `art/` as markup in the light of a picture. There, a fill or stroke is `#rrggbb`, `main` or `window`;
 * `-22` after it makes it 22 % darker, `+55` lighter, and `~85` moves it towards the horizon. A `style` is not lit.
 */
export function painted(name: string, { main, window, lit }: Paint, distance = 0): string {
  return drawingOf(name).replaceAll(
    /(fill|stroke)="(main|window|#\w{6})(?:([-+~])(\d+))?"/g,
    (_all, attribute: string, base: string, change: string | undefined, percent: string) => {
      if (base === 'window') return `${attribute}="${window}"`
      const share = Number(percent) / 100
      const colour = lit(base === 'main' ? main : base, change === '~' ? share : distance)
      if (change === '-') return `${attribute}="${darker(colour, share)}"`
      return `${attribute}="${change === '+' ? lighter(colour, share) : colour}"`
    },
  )
}
