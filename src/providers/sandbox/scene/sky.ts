import { darker } from './things/pen.ts'
import type { Idea } from './read-prompt.ts'
import { shade, steps, type Stage } from './stage.ts'
import { circle, ellipse, mix, path, polygon, rect, round, stroke } from './svg.ts'

type Asked = Idea['sky']

/** Draws the sky with what is in it; `lightX` is where sun or moon stand. */
export function drawSky(stage: Stage, asked: Asked, lightX: number): void {
  const { width, height, horizon, light, shapes, chance } = stage
  const sky = shade(stage, light.sky)
  shapes.push(rect(0, 0, [width, horizon + height * 0.02], sky))
  const isNight = light.time === 'night'
  if (asked.has('aurora')) drawAurora(stage)
  if (asked.has('stars') || (isNight && light.air === 'clear')) drawStars(stage)
  const lightY =
    horizon *
    (light.time === 'day' || isNight ? chance.between(0.2, 0.36) : chance.between(0.7, 0.88))
  if (asked.has('moon') || (isNight && !asked.has('sun') && light.air !== 'storm')) {
    drawMoon(stage, lightX, lightY, asked.get('moon'))
  } else if (light.air === 'clear' || asked.has('sun')) {
    drawSun(stage, lightX, lightY, asked.get('sun'))
  }
  if (asked.has('rainbow')) drawRainbow(stage)
  const clouds = light.air === 'clear' ? (asked.has('cloud') ? 6 : isNight ? 1 : 3) : 8
  drawClouds(stage, clouds, asked.get('cloud'))
  if (asked.has('lightning') || light.air === 'storm') drawLightning(stage, lightX)
}

/** Draws what a prompt asks for in the sky of a picture that is there already. */
export function drawAskedSky(stage: Stage, asked: Asked, lightX: number): void {
  const lightY = stage.height * stage.chance.between(0.12, 0.2)
  if (asked.has('aurora')) drawAurora(stage)
  if (asked.has('stars') || asked.has('night')) drawStars(stage)
  if (asked.has('moon') || asked.has('night')) drawMoon(stage, lightX, lightY, asked.get('moon'))
  if (asked.has('sun') || asked.has('sunset')) drawSun(stage, lightX, lightY, asked.get('sun'))
  if (asked.has('rainbow')) drawRainbow(stage)
  if (asked.has('cloud')) drawClouds(stage, 5, asked.get('cloud'))
  if (asked.has('lightning') || asked.has('storm')) drawLightning(stage, lightX)
}

function drawSun({ shapes, short, light }: Stage, x: number, y: number, colour?: string): void {
  const own = light.time === 'day' ? '#fff1b0' : light.time === 'night' ? '#ffe9b0' : '#ffd27a'
  const fill = colour ?? own
  const radius = short * (light.time === 'day' ? 0.07 : 0.095)
  for (const [scale, opacity] of [
    [3.4, 0.1],
    [2.3, 0.16],
    [1.5, 0.26],
    [1, 1],
  ] as const) {
    shapes.push(circle(x, y, radius * scale, fill, opacity))
  }
}

function drawMoon(
  { shapes, short, light, chance }: Stage,
  x: number,
  y: number,
  colour = '#f7efd2',
) {
  const radius = short * 0.078
  for (const [scale, opacity] of [
    [3, 0.07],
    [1.9, 0.11],
    [1, 1],
  ] as const) {
    shapes.push(circle(x, y, radius * scale, colour, opacity))
  }
  if (chance.whole(0, 2) === 0) {
    const [top = '#0a1030'] = light.sky
    shapes.push(
      circle(
        x + radius * 0.42,
        y - radius * 0.16,
        radius * 0.88,
        mix(top, light.sky[1] ?? top, 0.35),
      ),
    )
    return
  }
  const crater = darker(colour, 0.12)
  shapes.push(
    circle(x - radius * 0.35, y - radius * 0.2, radius * 0.2, crater),
    circle(x + radius * 0.3, y + radius * 0.3, radius * 0.26, crater),
    circle(x + radius * 0.18, y - radius * 0.48, radius * 0.13, crater),
  )
}

function drawStars({ width, horizon, short, shapes, chance }: Stage): void {
  const dots: Record<'small' | 'large', string> = { small: '', large: '' }
  const count = Math.min(160, Math.round((70 * width) / short))
  for (let star = 0; star < count; star += 1) {
    const y = horizon * 0.92 * chance.between(0, 1) ** 1.4
    const dot = `M${round(chance.between(0, width))} ${round(y)}h0`
    dots[star % 6 === 0 ? 'large' : 'small'] += dot
  }
  shapes.push(
    stroke(dots.small, '#fffbe8', Math.max(0.8, short * 0.003), 0.75),
    stroke(dots.large, '#fffdf2', Math.max(1.2, short * 0.0056)),
  )
}

function drawAurora({ width, horizon, shapes, chance }: Stage): void {
  for (const [index, colour] of ['#3fe0a0', '#7a6be0', '#48d8c8'].entries()) {
    const top = horizon * (0.08 + index * 0.14)
    const sway = chance.between(-0.1, 0.1) * horizon
    const data =
      `M0 ${round(top + sway)}C${round(width * 0.3)} ${round(top - horizon * 0.2)} ${round(width * 0.6)} ${round(top + horizon * 0.3)} ${round(width)} ${round(top)}` +
      `V${round(top + horizon * 0.3)}C${round(width * 0.6)} ${round(top + horizon * 0.55)} ${round(width * 0.3)} ${round(top + horizon * 0.12)} 0 ${round(top + horizon * 0.34)}Z`
    shapes.push(path(data, colour, 0.26))
  }
}

function drawRainbow({ width, horizon, short, shapes, chance }: Stage): void {
  const x = width * chance.between(0.4, 0.6)
  const radius = Math.min(width * 0.46, horizon * 0.86)
  const band = short * 0.014
  const colours = ['#e8604f', '#f0a04a', '#f5d75a', '#6fbf6a', '#4f9be0', '#8a6bd0']
  for (const [index, colour] of colours.entries()) {
    const own = radius - index * band
    const arc = `M${round(x - own)} ${round(horizon)}A${round(own)} ${round(own)} 0 0 1 ${round(x + own)} ${round(horizon)}`
    shapes.push(stroke(arc, colour, band * 1.08, 0.72))
  }
}

function drawClouds(stage: Stage, count: number, colour?: string): void {
  const { width, horizon, short, light, shapes, chance } = stage
  const isHeavy = light.air !== 'clear'
  const bright = light.lit(colour ?? (isHeavy ? '#c4ccd4' : '#ffffff'))
  const fill = mix(bright, light.sky.at(-1)!, isHeavy ? 0.1 : 0.12)
  const many = Math.min(14, Math.round(count * Math.max(1, (0.7 * width) / short)))
  for (let cloud = 0; cloud < many; cloud += 1) {
    const x = (width * (cloud + chance.between(0.1, 0.9))) / many
    const size = short * chance.between(0.05, 0.1) * (isHeavy ? 1.5 : 1)
    const y = Math.max(size * 1.4, horizon * chance.between(0.1, isHeavy ? 0.42 : 0.5))
    const own = isHeavy && cloud % 2 === 0 ? darker(fill, 0.14) : fill
    const opacity = light.time === 'night' ? 0.5 : 0.92
    shapes.push(
      path(
        `M${round(x - size * 1.9)} ${round(y)}a${round(size * 0.62)} ${round(size * 0.62)} 0 0 1 ${round(size * 0.5)} ${round(-size * 0.75)}` +
          `a${round(size * 0.95)} ${round(size * 0.95)} 0 0 1 ${round(size * 1.7)} ${round(-size * 0.4)}` +
          `a${round(size * 0.75)} ${round(size * 0.75)} 0 0 1 ${round(size * 1.3)} ${round(size * 0.55)}` +
          `a${round(size * 0.5)} ${round(size * 0.5)} 0 0 1 ${round(size * 0.2)} ${round(size * 0.6)}Z`,
        own,
        opacity,
      ),
    )
  }
}

function drawLightning({ width, horizon, short, shapes, chance }: Stage, x: number): void {
  const size = Math.min(horizon * 0.7, short * 0.5)
  const start = x + (x > width / 2 ? -1 : 1) * width * chance.between(0.02, 0.12)
  const top = horizon * 0.12
  const at = (across: number, down: number) => [start + across * size, top + down * size]
  const bolt = [
    at(0, 0),
    at(-0.12, 0.42),
    at(-0.01, 0.4),
    at(-0.16, 1),
    at(0.13, 0.32),
    at(0.02, 0.34),
    at(0.1, 0),
  ]
  shapes.push(polygon(bolt.flat(), '#fff6c2', 0.95))
}

/** Draws what falls and drifts in front of everything. */
export function drawWeather(stage: Stage, asked: Asked): void {
  const { width, height, short, shapes, chance } = stage
  if (asked.has('fog')) {
    for (const y of [0.5, 0.58, 0.68]) {
      const drift = [width * chance.between(0.5, 0.75), height * 0.07] as const
      shapes.push(
        ellipse(width * chance.between(0.2, 0.8), height * y, drift, '#eef2f3', { opacity: 0.4 }),
      )
    }
  }
  if (asked.has('rain') || asked.has('storm')) {
    const length = short * 0.045
    const lean = asked.has('storm') ? 0.55 : 0.25
    const drops = steps(stage, short * 0.028, 60).flatMap((x) =>
      [0, 1, 2].map(() => {
        const y = chance.between(-0.05, 1) * height
        return `M${round(x + chance.between(-1, 1) * short * 0.02)} ${round(y)}l${round(-length * lean)} ${round(length)}`
      }),
    )
    shapes.push(stroke(drops.join(''), '#dbe8f0', Math.max(0.7, short * 0.0026), 0.5))
  }
  if (asked.has('snow') && !asked.has('sun')) {
    const flakes = (count: number) =>
      Array.from({ length: count }, () => {
        const [x, y] = [chance.between(0, 1) * width, chance.between(0, 1) * height]
        return `M${round(x)} ${round(y)}h0`
      }).join('')
    shapes.push(
      stroke(flakes(90), '#ffffff', Math.max(1, short * 0.007), 0.85),
      stroke(flakes(30), '#ffffff', Math.max(1.4, short * 0.013), 0.8),
    )
  }
}
