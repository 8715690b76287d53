import { GatewayError } from '../error.ts'
import type { ImageAbilities, Warning } from '../model.ts'
import {
  joinTexts,
  textSeparator,
  type ImagePlan,
  type ImageRequest,
  type PromptText,
} from './image.ts'

/**
 * Leaves out texts of a conversation that exceed the model's prompt. Throws a GatewayError if the vendor refuses the rest.
 */
export function planPrompt(
  { prompt, texts = [{ text: prompt, isInstruction: false }] }: ImageRequest,
  { id, abilities }: { id: string; abilities: ImageAbilities },
  warnings: Warning[],
): Pick<ImagePlan, 'prompt'> {
  const { prompt_characters_max: most = Infinity, refuses_long_prompts: isRefused } = abilities
  if (prompt.length <= most) return {}
  const sent = fittingTexts(texts, most)
  const shorter = joinTexts(sent)
  const warn = (requested: string, applied: string, reason: string) =>
    warnings.push({ param: 'prompt', requested, applied, reason: `${id} ${reason}` })
  if (sent.length < texts.length) {
    const left = texts.length - sent.length
    const reason = `takes prompts of at most ${most} characters, so ${left} texts of the conversation are left out.`
    warn(`${texts.length} texts`, `${sent.length} texts`, reason)
  }
  if (shorter.length > most && isRefused === true) {
    const text = `${id} takes prompts of at most ${most} characters, and this one has ${shorter.length}. Send a shorter prompt.`
    throw new GatewayError('invalid_value', text, { param: 'prompt' })
  }
  if (shorter.length > most) {
    const reason = `reads prompts of at most ${most} characters.`
    warn(`${shorter.length} characters`, `${most} characters`, reason)
  }
  return { prompt: shorter }
}

/** The last text, and as far as they fit the instructions and the texts before the last, newest first. */
function fittingTexts(texts: readonly PromptText[], most: number): PromptText[] {
  const instructions = texts.filter(({ isInstruction }) => isInstruction)
  const [last, ...turns] = texts.filter(({ isInstruction }) => !isInstruction).toReversed()
  const kept = new Set([last])
  let left = most - last!.text.length
  for (const one of [...instructions, ...turns]) {
    const characters = textSeparator.length + one.text.length
    if (characters > left && !one.isInstruction) break
    if (characters > left) continue
    left -= characters
    kept.add(one)
  }
  return texts.filter((one) => kept.has(one))
}
