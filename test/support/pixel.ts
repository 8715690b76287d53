const base64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** The smallest picture, as a data URL and as a file. */
export const pixel = `data:image/png;base64,${base64}`
export const pixelFile = new File([Buffer.from(base64, 'base64')], 'a.png', { type: 'image/png' })
