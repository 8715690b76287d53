import { steps, shade, type Stage } from './stage.ts'
import { path, polygon, rect, round, stroke } from './svg.ts'
import { darker, lighter } from './things/pen.ts'

const walls = ['#7d8aa5', '#a58f8a', '#8f9db0', '#6f7a94', '#b3a08c'] as const

/** The skyline of a city behind the horizon, in two layers. */
export function drawSkyline(stage: Stage, colour?: string): void {
  const { horizon, short, light, chance, shapes } = stage
  const lamp = light.time === 'day' && light.air === 'clear' ? undefined : '#ffd98a'
  for (const [layer, depth] of [0.75, 0.35].entries()) {
    const width = short * (layer === 0 ? 0.09 : 0.12)
    for (const x of steps(stage, width, 24)) {
      const tall = short * chance.between(0.14, layer === 0 ? 0.5 : 0.34)
      const wall = light.lit(colour ?? chance.pick(walls), depth)
      const wide = width * chance.between(0.85, 1.15)
      const top = horizon - tall
      shapes.push(
        rect(x, top, [wide, tall + 2], wall),
        rect(x + wide * 0.62, top, [wide * 0.38, tall + 2], darker(wall, 0.14)),
      )
      if (chance.whole(0, 3) === 0) {
        shapes.push(
          rect(x + wide * 0.25, top - wide * 0.3, [wide * 0.4, wide * 0.32], wall),
          stroke(
            `M${round(x + wide * 0.45)} ${round(top - wide * 0.3)}v${round(-wide * 0.6)}`,
            wall,
            Math.max(0.8, wide * 0.05),
          ),
        )
      }
      shapes.push(
        windows(
          { x, top, wide, tall },
          lamp === undefined ? lighter(wall, 0.3) : lamp,
          () => lamp === undefined || chance.whole(0, 2) > 0,
        ),
      )
    }
  }
}

type Front = { x: number; top: number; wide: number; tall: number }

function windows({ x, top, wide, tall }: Front, colour: string, isLit: () => boolean): string {
  const size = wide * 0.12
  const dots: string[] = []
  const rows = Math.min(9, Math.floor((tall - size) / (size * 2.4)))
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < 3; column += 1) {
      if (!isLit()) continue
      const [left, up] = [x + wide * (0.16 + column * 0.27), top + size * (1 + row * 2.4)]
      dots.push(`M${round(left)} ${round(up)}h${round(size)}v${round(size * 1.3)}h${round(-size)}Z`)
    }
  }
  return path(dots.join(''), colour, 0.85)
}

/** A street that runs to the horizon between two rows of houses. */
export function drawStreet(stage: Stage): void {
  const { width, height, horizon, short, light, chance, shapes } = stage
  const x = width * chance.between(0.44, 0.56)
  const half = Math.min(width * 0.42, short * 0.55)
  const lamp = light.time !== 'day' || light.air !== 'clear'
  const asphalt = shade(stage, [light.lit('#8b8f9a', 0.3), light.lit('#565b69')])
  shapes.push(
    rect(
      0,
      horizon,
      [width, height - horizon],
      shade(stage, [light.lit('#b9b2aa', 0.3), light.lit('#a39a92')]),
    ),
  )
  shapes.push(
    polygon(
      [x - 2, horizon, x + 2, horizon, x + half * 1.3, height, x - half * 1.3, height],
      asphalt,
    ),
  )
  const depth = height - horizon
  for (let dash = 1; dash < 8; dash += 1) {
    const [near, far] = [(dash / 8) ** 2, ((dash - 0.45) / 8) ** 2]
    const mark = [
      x - half * 0.03 * far,
      horizon + depth * far,
      x + half * 0.03 * far,
      horizon + depth * far,
      x + half * 0.03 * near,
      horizon + depth * near,
      x - half * 0.03 * near,
      horizon + depth * near,
    ]
    shapes.push(polygon(mark, light.lit('#f3ecd8'), 0.85))
  }
  for (const side of [-1, 1]) {
    for (let house = 4; house >= 0; house -= 1) {
      const [far, near] = [1 / (house + 2.05), 1 / (house + 1)]
      const tall = short * chance.between(0.62, 0.95)
      const wall = light.lit(
        chance.pick(['#c98f6a', '#d8b58a', '#a9707a', '#8fa3ad', '#c9b9a6']),
        far < 0.3 ? 0.25 : 0.08,
      )
      drawFront(
        {
          x,
          side,
          far,
          near,
          tall,
          reach: Math.max(width * 0.62, half * 1.25),
          horizon,
          drop: depth * 0.9,
        },
        wall,
        lamp ? '#ffd98a' : light.lit('#8fb3c6'),
        shapes,
      )
    }
  }
}

type Facade = {
  x: number
  side: number
  far: number
  near: number
  tall: number
  reach: number
  horizon: number
  drop: number
}

/** The front of a house along the street, which becomes smaller towards the horizon. */
function drawFront(
  { x, side, far, near, tall, reach, horizon, drop }: Facade,
  wall: string,
  pane: string,
  shapes: string[],
): void {
  const at = (along: number, up: number) => {
    const share = far + (near - far) * along
    return [
      x + side * reach * share,
      horizon + drop * share * 0.62 - (tall + drop * 0.62) * share * up,
    ]
  }
  const face = side < 0 ? darker(wall, 0.06) : darker(wall, 0.18)
  shapes.push(polygon([...at(0, 0), ...at(1, 0), ...at(1, 1), ...at(0, 1)], face))
  shapes.push(
    polygon([...at(0, 1), ...at(1, 1), ...at(1, 1.05), ...at(0, 1.05)], darker(face, 0.35)),
  )
  for (const up of [0.36, 0.58, 0.8]) {
    for (const along of [0.14, 0.44, 0.74]) {
      shapes.push(
        polygon(
          [
            ...at(along, up),
            ...at(along + 0.16, up),
            ...at(along + 0.16, up + 0.12),
            ...at(along, up + 0.12),
          ],
          pane,
          0.92,
        ),
      )
    }
  }
  shapes.push(
    polygon(
      [...at(0.4, 0), ...at(0.62, 0), ...at(0.62, 0.22), ...at(0.4, 0.22)],
      darker(face, 0.5),
    ),
  )
}
