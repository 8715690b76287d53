import type { Gateway } from '../../core/gateway.ts'
import type { ToolHandler } from '../tool.ts'
import { pictureContent } from './pictures.ts'

/** The tool `generate-image`: one to four pictures from a prompt. */
export function generateImage(gateway: Gateway): ToolHandler<'generate-image'> {
  return async ({ prompt, model, size, n }, { context }) =>
    pictureContent(await gateway.image({ model, prompt, n, size }, context))
}
