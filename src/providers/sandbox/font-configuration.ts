import { fileURLToPath } from 'node:url'

/**
 * The font configuration that makes captions the same on every host. FONTCONFIG_FILE must name it
 * before the first picture is rendered.
 */
export const fontConfigurationFile: string = fileURLToPath(
  new URL('./font/fonts.conf', import.meta.url),
)
