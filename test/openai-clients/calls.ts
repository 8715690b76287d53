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
  prompts: Record<'text' | 'weather' | 'place' | 'picture', string>
}

/** A program with a function for each call, by name. */
export type Program = { calls: (asked: Asked) => Record<CallName, () => Promise<unknown>> }

export const prompts: Asked['prompts'] = {
  text: 'Say hello.',
  weather: 'How is the weather in Ulm?',
  place: 'Tell the weather in Ulm as JSON.',
  picture: 'What do you see?',
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
}
export type CallName = keyof typeof expected
