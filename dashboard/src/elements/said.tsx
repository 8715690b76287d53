import { useEffect, useRef, useState } from 'preact/hooks'

type Words = { text: string }

/** Message about the last action, and a function that sets it; the same text can be announced again. */
export function useSaid(): [said: Words | undefined, say: (text: string | undefined) => void] {
  const [said, setSaid] = useState<Words>()
  return [said, (text) => setSaid(text === undefined ? undefined : { text })]
}

/** Announces the message and moves the focus to it. */
export function Said({ said }: { said: Words | undefined }) {
  const element = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (said !== undefined) element.current?.focus()
  }, [said])
  if (said === undefined) return null
  return (
    <p ref={element} class="said" role="status" tabIndex={-1}>
      {said.text}
    </p>
  )
}
