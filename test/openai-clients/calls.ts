import { said } from './lean-vendor.ts'

/** Parameters of a program's calls. */
export type Asked = {
  baseURL: string
  apiKey: string
  model: string
  /** The API that the program calls. */
  api: 'chat' | 'responses'
  /** A PNG as base64. */
  picture: string
  prompts: Record<'text' | 'weather' | 'place' | 'picture' | 'refused' | 'endless', string>
}

/** A program with a function for each call, by name. */
export type Program = { calls: (asked: Asked) => Record<CallName, () => Promise<unknown>> }

/** A program that has an image made by a hosted tool. */
export type ImageProgram = {
  images: (
    asked: Pick<Asked, 'baseURL' | 'apiKey' | 'model'> & { imageModel: string },
  ) => Record<'whole' | 'streamed', () => Promise<SeenImage>>
}
/** The image as base64, the text after it, and the answer to a question about the image. */
export type SeenImage = { image: unknown; text: unknown; next: unknown }
export const imagePrompts = { first: 'Draw a pixel.', next: 'What do you see?' }

export const prompts: Asked['prompts'] = {
  text: 'Say hello.',
  weather: 'How is the weather in Ulm?',
  place: 'Tell the weather in Ulm as JSON.',
  picture: 'What do you see?',
  refused: 'Refuse this.',
  endless: 'Speak without end.',
}

/** Expected result of each call. */
export const expected = {
  text: said.text,
  stream: said.text,
  talk: said.text,
  tools: said.weather,
  'streamed tools': said.weather,
  object: said.place,
  picture: said.picture,
  /** The status of the error. */
  error: 400,
  /** What arrived before the call was cancelled. */
  cancel: 'Hello ',
}
export type CallName = keyof typeof expected
