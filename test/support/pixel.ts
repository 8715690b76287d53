const base64 =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mM4YaNBEmIY1TCqYfhqAAAeBCwQMd+aqQAAAABJRU5ErkJggg=='

/** About the smallest picture that vendors accept, as a data URL and as a file. */
export const pixel = `data:image/png;base64,${base64}`
export const pixelBytes = Buffer.from(base64, 'base64')
export const pixelFile = new File([pixelBytes], 'a.png', { type: 'image/png' })
