import type { Gateway } from '../../core/gateway.ts'
import { pictureContent } from './pictures.ts'
import type { ToolHandler } from './index.ts'

/** The tool `generate-image`: one to four pictures from a text. */
export function generateImage(gateway: Gateway): ToolHandler<'generate-image'> {
  return async ({ prompt, model, size, n }, { context }) =>
    pictureContent(await gateway.image({ model, prompt, n, size }, context))
}
