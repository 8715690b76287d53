import type { ReceivedRequest, ScriptedAnswer } from '../upstream.ts'
import { isPictureOrHeic, startImageDouble, unknownMembers, type ImageDouble } from './double.ts'
import type { PictureFormat } from './paint.ts'

export const googleKey = 'AIza-test-key-of-google-0123456789'

type Part = { text?: string; inlineData?: { mimeType: string; data: string } }
/** The body of a valid request. */
type Body = {
  contents: { role?: string; parts: Part[] }[]
  generationConfig: {
    responseModalities?: string[]
    imageConfig?: { aspectRatio?: string; imageSize?: string }
    seed?: number
  }
}

const tenRatios = {
  '1:1': [1024, 1024],
  '2:3': [848, 1264],
  '3:2': [1264, 848],
  '3:4': [896, 1200],
  '4:3': [1200, 896],
  '4:5': [928, 1152],
  '5:4': [1152, 928],
  '9:16': [768, 1376],
  '16:9': [1376, 768],
  '21:9': [1584, 672],
}
const fourteenRatios = {
  ...tenRatios,
  '1:4': [512, 2048],
  '4:1': [2048, 512],
  '1:8': [384, 3072],
  '8:1': [3072, 384],
}
type Model = {
  ratios: Record<string, number[]>
  classes: string[]
  references: number
  format: PictureFormat
}
const factors: Record<string, number> = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 }
const jpeg = { references: 14, format: 'jpeg' } as const
const all = ['1K', '2K', '4K']
const models: Record<string, Model> = {
  'gemini-3-pro-image': { ...jpeg, ratios: tenRatios, classes: all },
  'gemini-nano-banana-2.1': { ...jpeg, ratios: fourteenRatios, classes: all },
  'gemini-3.1-flash-image': { ...jpeg, ratios: fourteenRatios, classes: ['512', ...all] },
  'gemini-3.1-flash-lite-image': { ...jpeg, ratios: tenRatios, classes: [] },
}

const path = /^\/v1beta\/models\/([\w.-]+):generateContent$/

/** A double of the image API of Google's Gemini (docs/vendors.md#gemini-images). */
export function startGoogleDouble(): Promise<ImageDouble> {
  return startImageDouble({
    refusal,
    answer: async function* (request, host) {
      const { ratios, format } = models[path.exec(request.path)![1]!]!
      const { imageConfig = {}, seed } = (request.body as Body).generationConfig
      const { aspectRatio = '1:1', imageSize = '1K' } = imageConfig
      const [width = 0, height = 0] = ratios[aspectRatio]!.map((side) => side * factors[imageSize]!)
      const number = seed ?? host.serial
      const data = await host.base64({ width, height, format, number })
      const tokens = imageSize === '4K' ? 2000 : 1120
      yield JSON.stringify({
        candidates: [
          {
            content: {
              role: 'model',
              parts: [
                { inlineData: { mimeType: `image/${format}`, data }, thoughtSignature: 'CpQB' },
              ],
            },
            finishReason: 'STOP',
            index: 0,
          },
        ],
        usageMetadata: {
          promptTokenCount: 13,
          candidatesTokenCount: tokens,
          thoughtsTokenCount: 117,
          totalTokenCount: 130 + tokens,
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: 13 }],
          candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: tokens }],
        },
        modelVersion: 'gemini-3-pro-image',
        responseId: `r${host.serial}`,
      })
    },
  })
}

function refusal({ path: target, headers, body }: ReceivedRequest): ScriptedAnswer | undefined {
  const { 'x-goog-api-key': key, authorization } = headers
  if (authorization !== undefined) return refused(401, 'UNAUTHENTICATED', 'Expected OAuth 2 token.')
  if (key === undefined) return refused(403, 'PERMISSION_DENIED', 'Method needs an API key.')
  if (key !== googleKey) {
    const message = `API key not valid: ${String(key)}.`
    const answer = refused(400, 'INVALID_ARGUMENT', message)
    const reason = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
    }
    return { ...answer, body: { error: { ...answer.body.error, details: [reason] } } }
  }
  const name = path.exec(target)?.[1]
  const model = name === undefined ? undefined : models[name]
  if (model === undefined) return refused(404, 'NOT_FOUND', `models/${name} is not found.`)
  const complaint = complaintAbout(body as Body, model)
  return complaint === undefined ? undefined : refused(400, 'INVALID_ARGUMENT', complaint)
}

function refused(code: number, status: string, message: string) {
  return { status: code, body: { error: { code, message, status } } }
}

function complaintAbout(body: Body, model: Model): string | undefined {
  const { contents, generationConfig } = body
  const { imageConfig, responseModalities = [], seed = 0 } = generationConfig
  const unknown = [
    ...unknownMembers(body, ['contents', 'generationConfig', 'safetySettings']),
    ...unknownMembers(generationConfig, ['responseModalities', 'imageConfig', 'seed']),
    ...unknownMembers(imageConfig, ['aspectRatio', 'imageSize']),
    ...contents.flatMap((content) => unknownMembers(content, ['role', 'parts'])),
    ...contents.flatMap(({ parts }) =>
      parts.flatMap((part) => unknownMembers(part, ['text', 'inlineData'])),
    ),
  ]
  if (unknown.length > 0) return `Unknown name "${unknown[0]}": Cannot find field.`
  if (contents.length === 0) return 'contents is not specified'
  if (!responseModalities.includes('IMAGE')) return 'The model does not support these modalities.'
  const parts = contents.flatMap((content) => content.parts)
  if (!parts.some(({ text = '' }) => text !== '')) return 'A text part is needed.'
  const pictures = parts.flatMap(({ inlineData }) => inlineData ?? [])
  const characters = pictures.reduce((sum, { data }) => sum + data.length, 0)
  if (characters > 20 * 2 ** 20) return 'Request payload size exceeds the limit: 20971520 bytes.'
  if (pictures.length > model.references) return `At most ${model.references} images are supported.`
  if (!pictures.every(({ mimeType, data }) => isPictureOrHeic(mimeType, data))) {
    return 'Unable to process input image.'
  }
  const { aspectRatio, imageSize } = imageConfig ?? {}
  if (aspectRatio !== undefined && !(aspectRatio in model.ratios)) {
    return 'aspect_ratio is invalid.'
  }
  if (imageSize !== undefined && !model.classes.includes(imageSize)) return 'image_size is invalid.'
  if (!Number.isInteger(seed) || Math.abs(seed) > 2_147_483_647) return 'Invalid value at seed.'
  return undefined
}
