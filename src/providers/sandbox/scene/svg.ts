export type PictureSize = { width: number; height: number }

/** Rounds a coordinate to two decimals. */
export function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** Mixes two colours (`#rrggbb`); a share of 0 is the first colour. */
export function mix(from: string, to: string, share: number): string {
  const channels = [1, 3, 5].map((offset) => {
    const start = Number.parseInt(from.slice(offset, offset + 2), 16)
    const end = Number.parseInt(to.slice(offset, offset + 2), 16)
    return Math.round(start + (end - start) * share)
      .toString(16)
      .padStart(2, '0')
  })
  return `#${channels.join('')}`
}

export function darker(colour: string, share = 0.25): string {
  return mix(colour, '#141433', share)
}

export function lighter(colour: string, share = 0.25): string {
  return mix(colour, '#fffbea', share)
}

/** `opacity` below 1 is written as `fill-opacity`. */
function filled(fill: string, opacity = 1): string {
  return `fill="${fill}"${opacity < 1 ? ` fill-opacity="${round(opacity)}"` : ''}`
}

export function circle(x: number, y: number, radius: number, fill: string, opacity = 1): string {
  return `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" ${filled(fill, opacity)}/>`
}

export function ellipse(
  x: number,
  y: number,
  [radiusX, radiusY]: readonly [number, number],
  fill: string,
  opacity = 1,
): string {
  const place = `cx="${round(x)}" cy="${round(y)}" rx="${round(radiusX)}" ry="${round(radiusY)}"`
  return `<ellipse ${place} ${filled(fill, opacity)}/>`
}

export function rect(
  x: number,
  y: number,
  [width, height]: readonly [number, number],
  fill: string,
  { corner = 0, opacity = 1 } = {},
): string {
  const place = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`
  return `<rect ${place}${corner > 0 ? ` rx="${round(corner)}"` : ''} ${filled(fill, opacity)}/>`
}

export function polygon(points: readonly number[], fill: string, opacity = 1): string {
  return `<polygon points="${points.map(round).join(' ')}" ${filled(fill, opacity)}/>`
}

export function path(data: string, fill: string, opacity = 1): string {
  return `<path d="${data}" ${filled(fill, opacity)}/>`
}

export function stroke(data: string, colour: string, width: number, opacity = 1): string {
  const faint = opacity < 1 ? ` stroke-opacity="${round(opacity)}"` : ''
  return (
    `<path d="${data}" fill="none" stroke="${colour}" stroke-width="${round(width)}"${faint}` +
    ` stroke-linecap="round" stroke-linejoin="round"/>`
  )
}

type Place = { x: number; y: number; scale: number; flip?: boolean }

/** Moves markup that was drawn around the origin to its position in the picture. */
export function placed(markup: string, { x, y, scale, flip = false }: Place): string {
  const sizes = flip ? `${round(-scale)} ${round(scale)}` : round(scale)
  return `<g transform="translate(${round(x)} ${round(y)}) scale(${sizes})">${markup}</g>`
}

export type Point = { x: number; y: number }

/** A smooth line through points from left to right, closed down to `bottom`. */
export function hillPath(points: readonly Point[], bottom: number): string {
  const [first, ...others] = points
  if (first === undefined) return ''
  let data = `M${round(first.x)} ${round(first.y)}`
  let previous = first
  for (const point of others) {
    const middle = round((previous.x + point.x) / 2)
    data += `C${middle} ${round(previous.y)} ${middle} ${round(point.y)}`
    data += ` ${round(point.x)} ${round(point.y)}`
    previous = point
  }
  return `${data}V${round(bottom)}H${round(first.x)}Z`
}
