import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const shownMs = 2000
const outcomeTexts = { copied: 'Copied', failed: 'Select and copy it' } as const

type CopyProps = {
  text: string
  what: string
  /** Whether the button shows `what`, which is otherwise for screen readers. */
  isNamed?: boolean
}

/** Copies a text to the clipboard, and shows whether that succeeded. */
export function CopyButton({ text, what, isNamed = false }: CopyProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (outcome === undefined) return undefined
    const timer = setTimeout(() => setOutcome(undefined), shownMs)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => {
    // Browsers provide the clipboard only to pages on HTTPS or localhost.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    setOutcome(await done.then(() => 'copied' as const).catch(() => 'failed' as const))
  }
  const said = outcome === undefined ? 'Copy' : outcomeTexts[outcome]
  return (
    <button
      type="button"
      class="plain copy"
      aria-label={`${said} ${what}`}
      onClick={() => void copy()}
    >
      <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">
        {said}
        {isNamed && ` ${what}`}
      </span>
    </button>
  )
}

/** Preformatted text with a copy button. */
export function Snippet({ text, what }: { text: string; what: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
