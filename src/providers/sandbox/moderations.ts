import type { ModerationInput } from '../../core/moderation/moderation.ts'

/** The members of a request that the adapter writes. */
export type ModerationBody = { model: string; input: ModerationInput }

/** OpenAI's categories. */
const categories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]
const [flaggedScore, otherScore] = [0.98, 0.000_01]

/** The texts of a request, in which its scenarios are read. */
export function textsIn({ input }: ModerationBody): string[] {
  if (typeof input === 'string') return [input]
  const texts = input.map((one) =>
    typeof one === 'string' ? one : one.type === 'text' ? one.text : '',
  )
  return typeof input[0] === 'string' ? texts : [texts.join('\n')]
}

/** An answer in OpenAI's form: a text is flagged for each category that it names. */
export function moderations(body: ModerationBody, id: string): object {
  const results = textsIn(body).map((text) => {
    const named = (category: string) => text.toLowerCase().includes(category)
    const each = <T>(valueOf: (category: string) => T) =>
      Object.fromEntries(categories.map((category) => [category, valueOf(category)]))
    return {
      flagged: categories.some(named),
      categories: each(named),
      category_scores: each((category) => (named(category) ? flaggedScore : otherScore)),
      category_applied_input_types: each(() => ['text']),
    }
  })
  return { id, model: body.model, results }
}
