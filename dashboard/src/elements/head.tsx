import type { ComponentChildren } from 'preact'
import { useTitle } from '../data/title.ts'

type Props = { title: string; children?: ComponentChildren }

/** Heading of a part of a page, which is also the window title; `children` are links beside it. */
export function Head({ title, children }: Props) {
  useTitle(title)
  return (
    <div class="head">
      <h1>{title}</h1>
      {children}
    </div>
  )
}
