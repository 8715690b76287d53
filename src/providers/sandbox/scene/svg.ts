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

export function darker(colour: string, share: number): string {
  return mix(colour, '#141433', share)
}

export function lighter(colour: string, share: number): string {
  return mix(colour, '#fffbea', share)
}

/** `opacity` below 1 is written as `fill-opacity`. */
function filled(fill: string, opacity = 1): string {
  return `fill="${fill}"${opacity < 1 ? ` fill-opacity="${round(opacity)}"` : ''}`
}

export function circle(x: number, y: number, radius: number, fill: string, opacity = 1): string {
  return ellipse(x, y, [radius, radius], fill, opacity)
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

/** A rectangle over the whole width from `top` to `bottom`. */
export function band(
  { width }: Pick<PictureSize, 'width'>,
  [top, bottom]: readonly [number, number],
  fill: string,
  opacity = 1,
): string {
  const place = `y="${round(top)}" width="${width}" height="${round(bottom - top)}"`
  return `<rect ${place} ${filled(fill, opacity)}/>`
}

/**
 * Adds a fill to the shapes that passes through the colours from top to bottom. All gradients are vertical: rows of
 * equal pixels keep a large PNG small and fast to encode.
 */
export function shade(shapes: string[], colours: readonly string[]): string {
  const id = `shade${shapes.length}`
  const stops = colours.map((colour, at) => {
    return `<stop offset="${round(at / Math.max(1, colours.length - 1))}" stop-color="${colour}"/>`
  })
  const direction = 'x1="0" y1="0" x2="0" y2="1"'
  shapes.push(`<linearGradient id="${id}" ${direction}>${stops.join('')}</linearGradient>`)
  return `url(#${id})`
}
